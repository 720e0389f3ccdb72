const net = require("node:net");
const server = net.createServer((socket) => socket.resume()).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => {
    for (const args of [[null], [5], [{}], [undefined], ["x", "nope"], [[1]]]) {
      try {
        console.log(client.write(...args));
      } catch (error) {
        console.log(error.name, error.code, error.message);
      }
    }
    client.on("error", (error) => console.log("error", error.code, error.message));
    client.on("close", (hadError) => {
      console.log("close", hadError);
      client.write("x", (error) => console.log("after destroy", error.code, error.message));
      client.end("x", (error) => console.log("end after destroy", error.code, error.message));
      server.close();
    });
    client.end();
    console.log(client.write("x", (error) => console.log("after end", error.code, error.message)));
  });
});

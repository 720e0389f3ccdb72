const net = require("node:net");
const server = net.createServer((socket) => socket.resume()).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => {
    client.end("x", () => console.log("first"));
    client.end(() => console.log("second"));
    client.on("finish", () => {
      console.log("finish", client.writableFinished);
      client.end((error) => console.log("third", error?.code, error?.message));
    });
    client.on("close", () => server.close());
  });
});

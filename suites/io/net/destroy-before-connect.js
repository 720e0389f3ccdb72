const net = require("node:net");
const server = net.createServer(() => console.log("connection")).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => console.log("connect"));
  client.on("close", (hadError) => {
    console.log("close", hadError);
    server.close();
  });
  client.on("error", (error) => console.log("error", error.message));
  client.write("x", (error) => console.log("write", error?.code));
  client.destroy();
});

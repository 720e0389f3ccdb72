const net = require("node:net");
const server = net.createServer().listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => {
    client.setTimeout(100000, () => console.log("never"));
    client.unref();
    server.unref();
    console.log("done");
  });
});
server.on("connection", (socket) => socket.unref());
process.on("exit", () => console.log("exit"));

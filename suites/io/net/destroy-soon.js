const net = require("node:net");
const server = net.createServer((socket) => {
  socket.resume();
  socket.on("close", () => console.log("server: close"));
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => {
    client.write("x".repeat(100000));
    client.destroySoon();
    console.log(client.destroyed, client.writableEnded);
  });
  client.on("finish", () => console.log("finish", client.destroyed));
  client.on("close", () => {
    console.log("close", client.bytesWritten);
    server.close();
  });
});

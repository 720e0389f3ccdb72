const net = require("node:net");
const order = [];
const server = net.createServer((socket) => {
  server.getConnections((error, count) => console.log("connections", error, count));
  server.close(() => {
    order.push("server closed");
    console.log(order.join(", "));
  });
  console.log("listening", server.listening);
  setTimeout(() => socket.end(), 20);
  socket.on("close", () => order.push("socket closed"));
});
server.listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  client.resume();
  client.on("close", () => order.push("client closed"));
});

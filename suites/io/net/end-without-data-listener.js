const net = require("node:net");
const server = net.createServer((socket) => {
  socket.on("end", () => console.log("server: end"));
  socket.on("close", () => {
    console.log("server: close");
    server.close();
  });
});
server.listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => client.end());
  client.on("end", () => console.log("client: end"));
  client.on("close", () => console.log("client: close"));
});

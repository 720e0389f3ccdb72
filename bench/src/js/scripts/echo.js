const net = require("node:net");
const server = net.createServer({ noDelay: true }, (socket) => {
  socket.on("data", (data) => socket.write(data));
  socket.on("error", () => {});
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));

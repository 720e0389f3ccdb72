// Servers and sockets may be made by a call, and extended.
const net = require("node:net");

class Counted extends net.Server {
  count = 0;

  constructor(...args) {
    super(...args);
    this.on("connection", () => this.count++);
  }
}

const server = net.Server((socket) => socket.end("hello"));
const counted = new Counted((socket) => socket.end("counted"));
console.log(server instanceof net.Server, server.constructor === net.Server, net.Server.name);
console.log(counted instanceof net.Server, counted.constructor === Counted, counted instanceof Counted);
const socket = net.Socket();
console.log(socket instanceof net.Socket, socket.constructor === net.Socket, net.Stream === net.Socket);
server.listen(0, "127.0.0.1", () => counted.listen(0, "127.0.0.1", () => {
  socket.setEncoding("utf8").on("data", console.log).connect(server.address().port, "127.0.0.1");
  socket.on("close", () => {
    server.close();
    const other = net.connect(counted.address().port, "127.0.0.1").setEncoding("utf8");
    console.log(other instanceof net.Socket);
    other.on("data", console.log).on("close", () => {
      console.log(counted.count);
      counted.close();
    });
  });
}));

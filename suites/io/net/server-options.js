const net = require("node:net");
for (const args of [["x"], [5], [null], [undefined], [{}], [() => {}], [{}, () => {}]]) {
  try {
    const server = net.createServer(...args);
    console.log(server instanceof net.Server, server.listenerCount("connection"), server.listening, server.maxConnections);
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
console.log(typeof net.Stream, net.Stream === net.Socket, typeof net.createConnection, new net.Socket() instanceof require("node:events"));
const socket = new net.Socket();
console.log(socket.readyState, socket.pending, socket.connecting, socket.destroyed, socket.bytesRead, socket.bytesWritten, socket.allowHalfOpen, socket.address());

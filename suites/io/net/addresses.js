const net = require("node:net");
const server = net.createServer((socket) => {
  console.log(socket.localPort === server.address().port, socket.localAddress, socket.localFamily, Object.keys(socket.address()).join());
  socket.end();
}).listen(0, "127.0.0.1", () => {
  const client = net.connect({ port: server.address().port, host: "127.0.0.1", localAddress: "127.0.0.1" });
  console.log(client.remoteAddress, client.address(), client.localPort);
  client.on("connect", () => {
    console.log(client.remoteAddress, client.remotePort === server.address().port, client.remoteFamily);
    console.log(client.localAddress, client.localPort > 0, Object.keys(client.address()).join());
    console.log(client.setKeepAlive(true, 1000) === client, client.setNoDelay() === client, client.ref() === client);
  });
  client.resume();
  client.on("close", () => {
    console.log(client.remoteAddress, client.localAddress);
    server.close();
  });
});

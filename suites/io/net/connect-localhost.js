const net = require("node:net");
const server = net.createServer((socket) => socket.end("hi")).listen(0, "localhost", () => {
  console.log(net.isIP(server.address().address) > 0);
  const found = [];
  const client = net.connect({ port: server.address().port });
  client.on("lookup", (error, address, family, host) => found.push([error, net.isIP(address) === family, host].join()));
  client.on("connect", () => console.log("connect", found[0], net.isIP(client.remoteAddress) > 0));
  client.on("data", (data) => console.log(data.toString()));
  client.on("close", () => server.close());
});

const net = require("node:net");
const server = net.createServer((socket) => socket.end("hi")).listen(0, "localhost", () => {
  console.log(server.address().address);
  const client = net.connect({ port: server.address().port });
  client.on("lookup", (error, address, family, host) => console.log("lookup", error, address, family, host));
  client.on("connect", () => console.log("connect", client.remoteAddress));
  client.on("data", (data) => console.log(data.toString()));
  client.on("close", () => server.close());
});

const net = require("node:net");
const fs = require("node:fs");
const server = net.createServer((socket) => {
  console.log("connection", socket.remoteAddress, socket.address(), socket.localPort);
  socket.end("hello");
});
server.listen("./sock", () => {
  console.log(server.address(), fs.statSync("sock").isSocket());
  const client = net.connect("./sock", () => console.log("connected", client.remoteAddress, client.remoteFamily));
  client.on("data", (data) => console.log(data.toString()));
  client.on("close", (hadError) => {
    console.log("close", hadError);
    server.close(() => console.log("removed", !fs.existsSync("sock"), server.address()));
  });
});

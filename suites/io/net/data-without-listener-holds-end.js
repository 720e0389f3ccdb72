const net = require("node:net");
const server = net.createServer((socket) => socket.end("unread")).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  client.on("end", () => console.log("end"));
  client.on("close", () => console.log("close"));
  setTimeout(() => {
    console.log("buffered", client.readableLength, client.readableFlowing);
    client.on("data", (data) => console.log("data", data.toString()));
    server.close(() => console.log("server closed"));
  }, 60);
});

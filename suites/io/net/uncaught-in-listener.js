const net = require("node:net");
process.on("uncaughtException", (error) => {
  console.log("uncaught", error.message);
});
const server = net.createServer((socket) => {
  socket.on("data", () => { throw new Error("in data"); });
  socket.on("end", () => console.log("end"));
  socket.on("close", () => {
    console.log("close");
    server.close();
  });
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => client.write("x"));
  client.resume();
  setTimeout(() => client.end(), 30);
});

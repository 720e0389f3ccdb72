const net = require("node:net");
const server = net.createServer({ pauseOnConnect: true }, (socket) => {
  socket.on("data", (data) => console.log("data", data.toString()));
  socket.on("end", () => console.log("end"));
  socket.on("close", () => server.close());
  setTimeout(() => {
    console.log("resume", socket.bytesRead);
    socket.resume();
  }, 30);
}).listen(0, "127.0.0.1", () => net.connect(server.address().port, "127.0.0.1").end("waiting"));

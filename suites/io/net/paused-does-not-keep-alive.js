const net = require("node:net");
const server = net.createServer({ pauseOnConnect: true }, (socket) => {
  console.log("paused", socket.isPaused());
  server.close();
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => {
    client.unref();
    console.log("connected");
  });
});
process.on("exit", () => console.log("exit"));

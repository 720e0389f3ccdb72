const net = require("node:net");
let dropped = 0;
const server = net.createServer((socket) => socket.resume());
server.maxConnections = 1;
server.on("drop", (data) => {
  dropped++;
  console.log("drop", data.remoteAddress, data.localFamily, Object.keys(data).sort().join());
});
server.listen(0, "127.0.0.1", () => {
  const first = net.connect(server.address().port, "127.0.0.1", () => {
    const second = net.connect(server.address().port, "127.0.0.1");
    second.resume();
    second.on("error", () => {});
    second.on("close", () => {
      console.log("second closed", dropped);
      first.end();
      first.resume();
      server.close(() => console.log("closed"));
    });
  });
});

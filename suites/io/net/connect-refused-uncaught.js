const net = require("node:net");
process.on("exit", (code) => console.log("exit", code));
const server = net.createServer().listen(0, "127.0.0.1", () => {
  const { port } = server.address();
  server.close(() => net.connect(port, "127.0.0.1"));
});

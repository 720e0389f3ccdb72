const net = require("node:net");
const server = net.createServer();
server.listen(0, "127.0.0.1", () => {
  server.close(() => console.log("close callback"));
  server.on("close", () => console.log("close event"));
  process.nextTick(() => console.log("tick"));
  setImmediate(() => console.log("immediate"));
  Promise.resolve().then(() => console.log("microtask"));
  console.log("listening callback");
});

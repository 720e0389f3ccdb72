const net = require("node:net");
const server = net.createServer().listen(0, "127.0.0.1", () => {
  console.log(server.unref() === server, server.ref() === server);
  server.unref();
});
setTimeout(() => console.log("timer"), 30);
process.on("exit", () => console.log("exit", server.listening));

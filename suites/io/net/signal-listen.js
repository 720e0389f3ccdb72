const net = require("node:net");
const controller = new AbortController();
const server = net.createServer();
server.on("close", () => console.log("close"));
server.listen({ port: 0, host: "127.0.0.1", signal: controller.signal }, () => {
  console.log("listening");
  controller.abort();
  console.log(server.listening);
});

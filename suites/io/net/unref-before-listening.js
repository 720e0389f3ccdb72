const net = require("node:net");
const server = net.createServer();
server.unref();
server.listen(0, "127.0.0.1", () => console.log("listening"));
process.on("exit", () => console.log("exit"));

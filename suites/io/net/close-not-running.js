const net = require("node:net");
const server = net.createServer();
server.on("close", () => console.log("close event"));
server.close((error) => console.log(error.name, error.code, error.message));
console.log(server.close() === server, server.listening, server.address());

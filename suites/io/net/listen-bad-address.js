const net = require("node:net");
const server = net.createServer();
server.on("error", (error) => console.log(error.code, error.message, error.syscall, error.address, error.port));
server.listen(4321, "203.0.113.1");
const other = net.createServer();
other.on("error", (error) => console.log(/^(ENOTFOUND|EAI_AGAIN)$/.test(error.code), error.syscall, error.hostname));
other.listen(0, "nothing.invalid");

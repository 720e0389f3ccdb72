const net = require("node:net");
const socket = new net.Socket();
socket.on("error", (error) => console.log("error", error.code, error.message));
socket.on("close", (hadError) => console.log("close", hadError));
console.log(socket.write("x", (error) => console.log("callback", error.code)));

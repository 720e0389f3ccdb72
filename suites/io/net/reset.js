const net = require("node:net");
const server = net.createServer((socket) => {
  socket.on("error", (error) => console.log("server:", error.message, error.code, error.errno, error.syscall, Object.keys(error).join()));
  socket.on("end", () => console.log("server: end"));
  socket.on("close", (hadError) => {
    console.log("server: close", hadError);
    server.close();
  });
  socket.resume();
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => {
    setTimeout(() => client.resetAndDestroy(), 10);
  });
  client.on("close", (hadError) => console.log("client: close", hadError));
});

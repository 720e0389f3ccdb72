const net = require("node:net");
const server = net.createServer((socket) => {
  socket.on("end", () => {
    console.log("end", socket.writable, socket.writableEnded);
    process.nextTick(() => process.nextTick(() => {
      console.log("later", socket.writableEnded);
      socket.on("error", (error) => console.log("error", error.code, error.message));
      socket.write("too late", (error) => console.log("callback", error.code, error.message));
    }));
  });
  socket.on("close", (hadError) => {
    console.log("close", hadError);
    server.close();
  });
  socket.resume();
});
server.listen(0, "127.0.0.1", () => net.connect(server.address().port, "127.0.0.1").end());

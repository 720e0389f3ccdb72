// A listener of 'connection' that fails ends its connection, if rejections are captured.
const net = require("node:net");
const events = require("node:events");

events.captureRejections = true;
const server = net.createServer(async (socket) => {
  server.close();
  socket.on("error", (error) => console.log("socket:", error.message));
  socket.on("close", (hadError) => console.log("closed", hadError));
  throw new Error("failed");
});
server.on("request", async () => {
  throw new Error("request failed");
});
server.on("error", (error) => console.log("server:", error.message));
server.listen(0, "127.0.0.1", () => {
  server.emit("request");
  net.connect(server.address().port, "127.0.0.1").on("close", () => console.log("client closed")).resume();
});

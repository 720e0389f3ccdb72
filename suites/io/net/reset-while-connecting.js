// A connection that is not there yet is reset when it is; one that nobody has begun is closed.
const net = require("node:net");

const server = net.createServer((socket) => {
  socket.on("error", (error) => console.log("server:", error.code));
  socket.on("close", () => server.close());
});
server.listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => console.log("connected"));
  client.on("error", (error) => console.log("client:", error.code));
  client.on("close", (hadError) => console.log("client closed", hadError));
  console.log(client.resetAndDestroy() === client, client.destroyed);
});
const idle = new net.Socket();
idle.on("error", (error) => console.log("idle:", error.code));
idle.resetAndDestroy();

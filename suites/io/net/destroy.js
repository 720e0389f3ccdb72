const net = require("node:net");
const server = net.createServer((socket) => {
  socket.on("data", () => console.log("server: data"));
  socket.on("end", () => console.log("server: end"));
  socket.on("close", (hadError) => console.log("server: close", hadError));
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => {
    console.log(client.destroy() === client, client.destroyed, client.readable, client.writable, client.readyState);
    client.destroy(new Error("ignored"));
  });
  client.on("end", () => console.log("client: end"));
  client.on("close", (hadError) => {
    console.log("client: close", hadError);
    server.close(() => console.log("closed"));
  });
});

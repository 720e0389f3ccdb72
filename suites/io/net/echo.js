const net = require("node:net");
const server = net.createServer((socket) => {
  console.log("server: connection", socket.remoteAddress, socket.remoteFamily, socket.remotePort > 0, socket.readyState);
  socket.on("data", (data) => {
    console.log("server: data", data);
    socket.write(data);
  });
  socket.on("end", () => console.log("server: end"));
  socket.on("finish", () => console.log("server: finish"));
  socket.on("close", (hadError) => console.log("server: close", hadError));
});
server.on("close", () => console.log("server closed"));
server.listen(0, "127.0.0.1", () => {
  const { address, family, port } = server.address();
  console.log(address, family, port > 0, server.listening);
  const client = net.connect(port, "127.0.0.1", () => {
    console.log("client: connected", client.readyState, client.connecting, client.pending);
    client.write("hello", () => console.log("client: written"));
  });
  console.log(client.connecting, client.readyState, client.pending);
  client.on("ready", () => console.log("client: ready"));
  client.on("data", (data) => {
    console.log("client: data", data.toString());
    client.end();
  });
  client.on("end", () => console.log("client: end"));
  client.on("finish", () => console.log("client: finish"));
  client.on("close", (hadError) => {
    console.log("client: close", hadError, client.bytesRead, client.bytesWritten, client.destroyed, client.readyState);
    server.close();
  });
});

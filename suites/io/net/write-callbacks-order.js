const net = require("node:net");
const server = net.createServer((socket) => {
  const parts = [];
  socket.on("data", (data) => parts.push(data));
  socket.on("end", () => {
    console.log(Buffer.concat(parts).toString());
    server.close();
  });
}).listen(0, "127.0.0.1", () => {
  const client = new net.Socket();
  client.connect(server.address().port, "127.0.0.1");
  for (const part of ["a", "b", "c"]) client.write(part, (error) => console.log("written", part, error));
  console.log(client.bytesWritten, client.writableLength);
  client.end("d", () => console.log("end callback"));
  client.on("connect", () => console.log("connect", client.bytesWritten));
  client.on("finish", () => console.log("finish"));
  client.on("close", () => console.log("close", client.bytesWritten));
});

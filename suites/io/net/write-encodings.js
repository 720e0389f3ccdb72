const net = require("node:net");
const server = net.createServer((socket) => {
  const parts = [];
  socket.on("data", (data) => parts.push(data));
  socket.on("end", () => {
    console.log(Buffer.concat(parts));
    server.close();
  });
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  client.write("ü");
  client.write("ü", "latin1");
  client.write("c3bc", "hex");
  client.write("w7w=", "base64", () => console.log("base64 written"));
  client.write(new Uint8Array([1, 2, 3]).subarray(1));
  client.write("");
  client.end("ü", "utf16le");
  client.on("close", () => console.log(client.bytesWritten));
});

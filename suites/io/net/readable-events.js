const net = require("node:net");
const server = net.createServer((socket) => {
  socket.write("abcdef");
  setTimeout(() => socket.end("ghi"), 30);
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  client.on("readable", () => {
    let part;
    while ((part = client.read(4)) !== null) console.log("read", part.toString());
  });
  client.on("end", () => {
    console.log("end", client.read());
    server.close();
  });
});

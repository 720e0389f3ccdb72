const net = require("node:net");
const server = net.createServer((socket) => {
  socket.setEncoding("utf8");
  socket.on("data", (data) => console.log("data", data));
  socket.on("end", () => server.close());
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => {
    client.cork();
    client.write("a");
    client.write("b", () => console.log("b written"));
    console.log(client.writableLength, client.writableCorked);
    process.nextTick(() => {
      client.uncork();
      console.log(client.writableLength);
      client.end();
    });
  });
});

const net = require("node:net");
const server = net.createServer({ allowHalfOpen: true }, (socket) => {
  let text = "";
  socket.setEncoding("utf8");
  socket.on("data", (data) => { text += data; });
  socket.on("end", () => {
    console.log("server: end", socket.readyState, socket.writable, socket.readable);
    setTimeout(() => {
      socket.write(text.toUpperCase());
      socket.end("!");
    }, 10);
  });
  socket.on("close", () => console.log("server: close"));
});
server.listen(0, () => {
  const client = net.connect({ port: server.address().port, host: "127.0.0.1" });
  let text = "";
  client.on("data", (data) => { text += data; });
  client.on("end", () => console.log("client: end", text));
  client.on("finish", () => console.log("client: finish", client.readyState));
  client.on("close", () => {
    console.log("client: close");
    server.close();
  });
  client.end("question");
  console.log(client.writable, client.writableEnded, client.writableFinished);
});

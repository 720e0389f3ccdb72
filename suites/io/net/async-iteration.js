const net = require("node:net");
const server = net.createServer(async (socket) => {
  let text = "";
  socket.setEncoding("utf8");
  for await (const part of socket) text += part;
  console.log("all", text, socket.destroyed);
  server.close();
}).listen(0, "127.0.0.1", async () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  client.write("some ");
  setTimeout(() => client.end("text"), 20);
  client.resume();
});

const net = require("node:net");
const server = net.createServer((socket) => {
  socket.write("first");
  socket.on("error", () => {});
}).listen(0, "127.0.0.1", async () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  for await (const part of client) {
    console.log(part.toString());
    break;
  }
  console.log(client.destroyed);
  const failing = net.connect(server.address().port, "127.0.0.1");
  setTimeout(() => failing.destroy(new Error("broken")), 50);
  try {
    for await (const part of failing) console.log(part.toString());
  } catch (error) {
    console.log("caught", error.message);
  }
  server.close();
});

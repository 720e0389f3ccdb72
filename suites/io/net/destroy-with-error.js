const net = require("node:net");
const server = net.createServer((socket) => {
  socket.on("error", (error) => console.log("error", error.message));
  socket.on("close", (hadError) => {
    console.log("close", hadError, socket.errored?.message);
    server.close();
  });
  socket.destroy(new Error("boom"));
  console.log("after destroy");
  process.nextTick(() => console.log("tick"));
  Promise.resolve().then(() => console.log("microtask"));
  setImmediate(() => console.log("immediate"));
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  client.resume();
});

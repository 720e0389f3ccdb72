const net = require("node:net");
const server = net.createServer((socket) => {
  socket.on("data", () => {
    setTimeout(() => {}, 0);
    setImmediate(() => console.log("immediate"));
    process.nextTick(() => console.log("tick"));
    Promise.resolve().then(() => console.log("microtask"));
    socket.write("x", () => console.log("written"));
    console.log("data");
  });
  socket.on("end", () => console.log("end"));
  socket.on("close", () => server.close());
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => client.write("go"));
  client.on("data", () => client.end());
});

const net = require("node:net");
const server = net.createServer((socket) => {
  console.log(socket.timeout, socket.setTimeout(40) === socket, socket.timeout);
  socket.on("timeout", () => {
    console.log("timeout", socket.destroyed, socket.readyState);
    socket.end("slow");
  });
  socket.on("close", () => server.close());
  socket.resume();
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  client.on("data", (data) => console.log(data.toString()));
  for (const ms of ["x", -1, NaN, Infinity]) {
    try {
      client.setTimeout(ms);
    } catch (error) {
      console.log(error.code, error.message);
    }
  }
  client.setTimeout(5000, () => console.log("never"));
  client.setTimeout(0);
});

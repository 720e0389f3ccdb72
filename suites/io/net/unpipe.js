const net = require("node:net");
const server = net.createServer((socket) => {
  const sink = new (require("node:events"))();
  let writes = 0;
  sink.write = (data) => {
    console.log("sink", data.toString());
    if (++writes === 1) {
      socket.unpipe(sink);
      socket.on("data", (data) => console.log("direct", data.toString()));
      socket.resume();
      socket.write("next");
    }
    return true;
  };
  sink.end = () => console.log("sink ended");
  socket.pipe(sink);
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  client.write("one");
  client.on("data", () => client.end("two"));
  client.on("close", () => server.close());
});

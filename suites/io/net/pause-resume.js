const net = require("node:net");
const server = net.createServer((socket) => {
  socket.write("one");
  setTimeout(() => socket.write("two"), 30);
  setTimeout(() => socket.end("three"), 60);
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  client.setEncoding("utf8");
  client.on("pause", () => console.log("pause"));
  client.on("resume", () => console.log("resume"));
  client.on("data", (data) => {
    console.log("data", data, client.isPaused());
    if (data === "one") {
      client.pause();
      console.log(client.isPaused(), client.readableFlowing);
      setTimeout(() => client.resume(), 90);
    }
  });
  client.on("end", () => console.log("end"));
  client.on("close", () => server.close());
});

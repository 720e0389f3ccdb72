const net = require("node:net");
const server = net.createServer((socket) => socket.resume()).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1", () => {
    console.log(client.writableHighWaterMark, client.readableHighWaterMark);
    console.log(client.write("x".repeat(16383)), client.writableNeedDrain, client.writableLength);
    console.log(client.write("x".repeat(16384)), client.writableNeedDrain, client.writableLength);
    client.once("drain", () => {
      console.log("drain", client.writableLength);
      client.end("done", () => console.log("ended"));
    });
    process.nextTick(() => console.log("tick"));
  });
  client.on("close", () => server.close());
});

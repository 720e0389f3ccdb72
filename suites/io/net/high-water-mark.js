const net = require("node:net");
const server = net.createServer((socket) => socket.resume()).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  console.log(client.writableHighWaterMark, client.readableHighWaterMark);
  console.log(client.write("x".repeat(16383)), client.writableNeedDrain, client.writableLength);
  console.log(client.write("x"), client.writableNeedDrain, client.writableLength);
  console.log(client.write(Buffer.alloc(10)), client.writableNeedDrain, client.writableLength);
  client.on("connect", () => {
    console.log("connect", client.writableLength);
    process.nextTick(() => console.log("tick"));
  });
  client.once("drain", () => {
    console.log("drain", client.writableLength, client.writableNeedDrain);
    console.log(client.write("x".repeat(16384)), client.writableLength);
    client.end("done", () => console.log("ended"));
  });
  client.on("close", () => server.close());
  const small = new net.Socket({ highWaterMark: 3 });
  console.log(small.writableHighWaterMark, small.readableHighWaterMark);
});

const net = require("node:net");
const total = 8 * 1024 * 1024;
const server = net.createServer((socket) => {
  socket.pause();
  let received = 0;
  socket.on("data", (data) => {
    received += data.length;
    socket.pause();
    setImmediate(() => socket.resume());
  });
  socket.on("end", () => console.log("received", received));
  setTimeout(() => socket.resume(), 50);
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  const chunk = Buffer.alloc(65536, "x");
  let sent = 0;
  let stops = 0;
  let drains = 0;
  const fill = () => {
    while (sent < total) {
      sent += chunk.length;
      if (!client.write(chunk)) {
        stops++;
        return;
      }
    }
    client.end();
  };
  client.on("drain", () => {
    drains++;
    fill();
  });
  client.on("connect", fill);
  client.on("close", () => {
    console.log("sent", sent, client.bytesWritten, stops > 1, stops === drains || stops === drains + 1);
    server.close();
  });
  client.resume();
});

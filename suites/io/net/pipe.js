const net = require("node:net");
const target = net.createServer((socket) => {
  let text = "";
  socket.setEncoding("utf8");
  socket.on("data", (data) => { text += data; });
  socket.on("end", () => console.log("target got", text.length, text.slice(0, 5)));
});
// Its end waits for that of the target.
const proxy = net.createServer({ allowHalfOpen: true }, (inbound) => {
  const outbound = net.connect(target.address().port, "127.0.0.1");
  outbound.on("pipe", (source) => console.log("pipe", source === inbound));
  outbound.on("unpipe", (source) => console.log("unpipe", source === inbound));
  console.log(inbound.pipe(outbound) === outbound);
  outbound.pipe(inbound);
});
target.listen(0, "127.0.0.1", () => proxy.listen(0, "127.0.0.1", () => {
  const client = net.connect(proxy.address().port, "127.0.0.1");
  client.end("0123456789".repeat(50000));
  client.resume();
  client.on("close", () => {
    console.log("client closed");
    target.close();
    proxy.close();
  });
}));

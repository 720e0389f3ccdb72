const net = require("node:net");
const count = 100;
let accepted = 0;
const server = net.createServer((socket) => {
  accepted++;
  socket.setEncoding("utf8");
  let text = "";
  socket.on("data", (data) => {
    text += data;
    if (text.endsWith("\n")) socket.end(text.toUpperCase());
  });
});
server.listen(0, "127.0.0.1", async () => {
  const ask = (i) => new Promise((resolve, reject) => {
    const client = net.connect(server.address().port, "127.0.0.1");
    let text = "";
    client.on("data", (data) => { text += data; });
    client.on("close", () => resolve(text));
    client.on("error", reject);
    client.write(`client ${i}\n`);
  });
  const answers = await Promise.all(Array.from({ length: count }, (_, i) => ask(i)));
  console.log(accepted, answers.every((text, i) => text === `CLIENT ${i}\n`));
  server.getConnections((error, left) => {
    console.log(error, left);
    server.close(() => console.log("closed"));
  });
});

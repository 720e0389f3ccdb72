const net = require("node:net");
const rounds = 500;
const server = net.createServer((socket) => socket.on("data", (data) => socket.write(data))).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  let round = 0;
  client.setNoDelay(true);
  client.on("connect", () => client.write(`${round}`));
  client.on("data", (data) => {
    if (data.toString() !== `${round}`) console.log("wrong", data.toString(), round);
    if (++round < rounds) client.write(`${round}`);
    else client.end();
  });
  client.on("close", () => {
    console.log("rounds", round, client.bytesRead === client.bytesWritten);
    server.close();
  });
});

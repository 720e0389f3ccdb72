const net = require("node:net");
const { createHash } = (() => {
  try {
    return require("node:crypto");
  } catch {
    return {};
  }
})();
const big = Buffer.alloc(3_000_000);
for (let i = 0; i < big.length; i += 1000) big[i] = i % 251;
const server = net.createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  const parts = [];
  client.on("data", (data) => parts.push(data));
  client.on("end", () => {
    const all = Buffer.concat(parts);
    console.log(all.length, all.equals(big), Math.max(...parts.map((part) => part.length)) <= 65536);
    server.close();
  });
  client.end(big, () => console.log("finished"));
});
void createHash;

const net = require("node:net");
for (const answer of [[null, [{ address: "nope", family: 4 }]], [new Error("mine")]]) {
  const client = net.connect({ port: 1, host: "x", lookup: (host, options, callback) => setImmediate(callback, ...answer) });
  client.on("error", (error) => console.log(JSON.stringify(answer[1]), error.name, error.code, error.message));
}

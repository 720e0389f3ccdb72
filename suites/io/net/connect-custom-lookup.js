const net = require("node:net");
const server = net.createServer((socket) => socket.end("hi")).listen(0, "127.0.0.1", () => {
  const lookup = (host, options, callback) => {
    console.log("asked for", host, options.all);
    setImmediate(() => (options.all ? callback(null, [{ address: "127.0.0.1", family: 4 }]) : callback(null, "127.0.0.1", 4)));
  };
  const client = net.connect({ port: server.address().port, host: "made.up", lookup });
  client.on("connect", () => console.log("connect"));
  client.resume();
  client.on("close", () => {
    const failing = net.connect({ port: 1, host: "made.up", lookup: (host, options, callback) => callback(new Error("no idea")) });
    failing.on("error", (error) => console.log("error", error.message));
    failing.on("close", () => server.close());
  });
});

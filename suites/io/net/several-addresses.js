const net = require("node:net");
const lookup = (list) => (host, options, callback) => callback(null, list.map((address) => ({ address, family: net.isIP(address) })));
const server = net.createServer((socket) => socket.end("hi")).listen(0, "127.0.0.1", () => {
  const { port } = server.address();
  const second = net.connect({ port, host: "several", lookup: lookup(["127.0.0.2", "127.0.0.1"]) });
  second.on("lookup", (error, address, family, host) => console.log("lookup", error, address, family, host));
  second.on("connect", () => console.log("connect", second.remoteAddress));
  second.on("error", (error) => console.log("error", error.code));
  second.resume();
  second.on("close", (hadError) => {
    console.log("close", hadError);
    server.close(() => {
      const none = net.connect({ port, host: "several", lookup: lookup(["127.0.0.2", "127.0.0.1"]) });
      none.on("error", (error) => {
        console.log(error.name, error.code, error.message, error.errors.map((one) => `${one.code} ${one.address} ${one.port === port}`));
        console.log(error.errors[0].message === `connect ECONNREFUSED 127.0.0.2:${port}`);
      });
      none.on("close", (hadError) => {
        console.log("close", hadError);
        const single = net.connect({ port, host: "one", lookup: lookup(["127.0.0.1"]) });
        single.on("error", (error) => console.log(error.name, error.code, error.address));
        const off = net.connect({ port, host: "off", autoSelectFamily: false, lookup: (host, options, callback) => callback(null, "127.0.0.1", 4) });
        off.on("error", (error) => console.log(error.name, error.code));
      });
    });
  });
});

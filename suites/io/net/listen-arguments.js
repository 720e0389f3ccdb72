const net = require("node:net");
for (const args of [[70000], [-1], [{}], [{ port: "x" }], [{ port: 1.5 }], [{ path: 5 }], [NaN], [true]]) {
  try {
    const server = net.createServer();
    server.on("error", (error) => console.log("error", error.code));
    server.listen(...args);
    console.log("fine");
    server.close();
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
const tries = [[], [0], [{ port: 0 }], [{ port: 0, host: "127.0.0.1" }], ["0", "127.0.0.1"], [0, "127.0.0.1", 5], [undefined], [null], [{ port: 0, backlog: 3, exclusive: true }]];
(function next() {
  const args = tries.shift();
  if (args === undefined) return;
  const server = net.createServer().listen(...args, () => {
    const { address, family, port } = server.address();
    const isAny = address === "::" || address === "0.0.0.0";
    console.log(isAny ? "any" : address, family === `IPv${net.isIP(address)}`, port > 0);
    server.close(next);
  });
})();

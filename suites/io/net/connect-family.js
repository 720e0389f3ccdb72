// The address of a server says what to connect to, with the name of a version.
const net = require("node:net");

function attempt(options) {
  return new Promise((resolve) => {
    let client;
    try {
      client = net.connect(options);
    } catch (error) {
      console.log(options.family, error.name, error.code, error.message);
      resolve();
      return;
    }
    client.on("connect", () => {
      console.log(options.family, "connected to", client.remoteAddress);
      client.destroy();
    });
    client.on("error", (error) => console.log(options.family, error.code));
    client.on("close", resolve);
  });
}

const server = net.createServer((socket) => socket.resume());
server.listen(0, "127.0.0.1", async () => {
  const { port } = server.address();
  await attempt(server.address());
  for (const family of [4, "IPv4", 0, null, undefined]) await attempt({ port, host: "localhost", family });
  for (const family of [5, "4", "ipv4", {}]) await attempt({ port, host: "localhost", family });
  server.close();
});

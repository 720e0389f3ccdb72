const net = require("node:net");
const server = net.createServer().listen(0, "127.0.0.1", () => {
  const { port } = server.address();
  server.close(() => {
    const client = net.connect(port, "127.0.0.1");
    client.on("error", (error) => {
      console.log(error.message === `connect ECONNREFUSED 127.0.0.1:${port}`, error.code, error.errno, error.syscall, error.address);
      console.log(error.port === port, Object.keys(error).join(), error.name);
      console.log(client.destroyed, client.readyState, client.connecting);
    });
    client.on("close", (hadError) => console.log("close", hadError));
    client.on("connect", () => console.log("connect"));
    client.write("never", (error) => console.log("write callback", error.code, error.message.split(" ").slice(0, 2).join(" ")));
  });
});

const net = require("node:net");
const first = net.createServer().listen(0, "127.0.0.1", () => {
  const { port } = first.address();
  const second = net.createServer();
  second.on("error", (error) => {
    console.log(error.message === `listen EADDRINUSE: address already in use 127.0.0.1:${port}`, error.code, error.errno, error.syscall);
    console.log(error.address, error.port === port, Object.keys(error).join(), second.listening, second.address());
    first.close();
    second.close((error) => console.log("close", error.code, error.message));
  });
  second.on("close", () => console.log("second closed"));
  second.listen(port, "127.0.0.1", () => console.log("never"));
});

const net = require("node:net");
const server = net.createServer();
server.listen(0);
try {
  server.listen(0);
} catch (error) {
  console.log(error.name, error.code, error.message);
}
server.once("listening", () => {
  console.log("listening", server.listening);
  server.close(() => {
    console.log("closed", server.listening, server.address());
    server.listen(0, "127.0.0.1", () => {
      console.log("again");
      server.close();
    });
  });
});

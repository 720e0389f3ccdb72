const net = require("node:net");
const server = net.createServer((socket) => socket.resume()).listen(0, "127.0.0.1", () => {
  const controller = new AbortController();
  const client = net.connect({ port: server.address().port, host: "127.0.0.1", signal: controller.signal });
  client.on("connect", () => {
    console.log("connect");
    controller.abort();
  });
  client.on("error", (error) => console.log(error.name, error.code, error.message, error.cause?.name));
  client.on("close", (hadError) => {
    console.log("close", hadError);
    server.close();
  });
});

// Says its port, takes as many connections as its argument says, and ends when they have ended.
const net = require("node:net");
let left = Number(process.argv[1]);
const server = net.createServer({ noDelay: true }, (socket) => {
  socket.on("data", (data) => socket.write(data));
  if (--left === 0) server.close();
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 1024 }, () => console.log(server.address().port));

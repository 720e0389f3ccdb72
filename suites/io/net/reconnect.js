const net = require("node:net");
let connections = 0;
const server = net.createServer((socket) => {
  connections++;
  socket.end(`number ${connections}`);
}).listen(0, "127.0.0.1", () => {
  const client = new net.Socket();
  client.setEncoding("utf8");
  client.on("connect", () => console.log("connect", client.destroyed, client.readyState));
  client.on("data", (data) => console.log(data));
  client.on("end", () => console.log("end"));
  client.on("close", (hadError) => {
    console.log("close", hadError);
    if (connections < 3) client.connect(server.address().port, "127.0.0.1");
    else server.close();
  });
  client.connect(server.address().port, "127.0.0.1");
});

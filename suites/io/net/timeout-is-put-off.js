const net = require("node:net");
const server = net.createServer((socket) => {
  let ticks = 0;
  const timer = setInterval(() => {
    socket.write(".");
    if (++ticks === 6) {
      clearInterval(timer);
      console.log("quiet now");
    }
  }, 50);
}).listen(0, "127.0.0.1", () => {
  const client = net.connect({ port: server.address().port, host: "127.0.0.1", timeout: 180 });
  let got = 0;
  client.on("data", (data) => { got += data.length; });
  client.once("timeout", () => {
    console.log("timeout after", got);
    client.destroy();
    server.close();
  });
});

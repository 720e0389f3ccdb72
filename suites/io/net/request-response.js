const net = require("node:net");
const server = net.createServer((socket) => {
  let head = "";
  socket.on("data", (data) => {
    head += data;
    if (!head.includes("\r\n\r\n")) return;
    const [line] = head.split("\r\n");
    socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${line.length}\r\nConnection: close\r\n\r\n${line}`);
  });
}).listen(0, "127.0.0.1", () => {
  const client = net.createConnection({ port: server.address().port, host: "127.0.0.1" });
  client.write("GET /path HTTP/1.1\r\n");
  client.write("Host: localhost\r\n\r\n");
  let text = "";
  client.setEncoding("latin1");
  client.on("data", (data) => { text += data; });
  client.on("end", () => {
    console.log(text);
    server.close();
  });
});

const net = require("node:net");
const server = net.createServer((socket) => {
  let rest = "";
  socket.setEncoding("utf8");
  socket.on("data", (data) => {
    const lines = (rest + data).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line === "quit") socket.end("bye\n");
      else socket.write(`${line.split("").reverse().join("")}\n`);
    }
  });
});
server.listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  const lines = [];
  let rest = "";
  client.on("data", (data) => {
    const found = (rest + data).split("\n");
    rest = found.pop();
    lines.push(...found);
  });
  client.on("end", () => {
    console.log(lines);
    server.close();
  });
  client.write("hello\nwor");
  setTimeout(() => client.write("ld\n\nquit\n"), 20);
});

// A TCP server that sends back what it is sent: `cargo run --release -- run examples/js/echo.js 7000`, then `nc 127.0.0.1 7000`.
// Without a port, it talks to itself for a moment.

import { connect, createServer } from "node:net";

const [port = 0] = process.argv.slice(2).map(Number);
const server = createServer((socket) => {
  socket.on("error", () => socket.destroy());
  socket.pipe(socket);
});

server.listen(port, "127.0.0.1", () => {
  if (port !== 0) {
    console.log(`listening on 127.0.0.1:${port}`);
    return;
  }
  const text = "So it goes. ".repeat(100_000);
  let received = "";
  const client = connect(server.address().port, "127.0.0.1", () => client.end(text));
  client.setEncoding("utf8");
  client.on("data", (part) => {
    received += part;
  });
  client.on("end", () => {
    console.log(`${received.length} characters there and back: ${received === text}`);
    server.close();
  });
});

const net = require("node:net");
const server = net.createServer((socket) => {
  const bytes = Buffer.from("aü€😀z");
  let i = 0;
  const timer = setInterval(() => {
    if (i < bytes.length) socket.write(bytes.subarray(i, ++i));
    else {
      clearInterval(timer);
      socket.end(Buffer.from([0xe2, 0x82]));
    }
  }, 8);
}).listen(0, "127.0.0.1", () => {
  const client = net.connect(server.address().port, "127.0.0.1");
  console.log(client.setEncoding("utf8") === client, client.readableEncoding);
  let text = "";
  client.on("data", (data) => {
    if (typeof data !== "string") console.log("no string");
    text += data;
  });
  client.on("end", () => {
    console.log(JSON.stringify(text), client.bytesRead);
    server.close();
  });
});

const net = require("node:net");
const fs = require("node:fs");
const client = net.connect({ path: "./missing" });
client.on("error", (error) => console.log(error.message, error.code, error.errno, error.syscall, error.address, error.port, Object.keys(error).join()));
client.on("close", (hadError) => {
  console.log("close", hadError);
  fs.writeFileSync("file", "");
  const other = net.connect("./file");
  other.on("error", (error) => {
    console.log(error.message);
    const server = net.createServer();
    server.on("error", (error) => {
      console.log(error.message, error.code, error.address, error.port);
      const deep = net.createServer();
      deep.on("error", (error) => console.log(error.message));
      deep.listen("./no/such/place");
    });
    server.listen("./file");
  });
});

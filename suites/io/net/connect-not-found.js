const net = require("node:net");
const client = net.connect(80, "nothing.invalid");
client.on("lookup", (error, address, family, host) => console.log("lookup", error.code, address, family, host));
client.on("error", (error) => {
  console.log(error.message, error.code, error.errno, error.syscall, error.hostname, Object.keys(error).join());
});
client.on("close", (hadError) => console.log("close", hadError));

const net = require("node:net");
// Which of them it is depends on the resolver.
const unknown = (code) => code === "ENOTFOUND" || code === "EAI_AGAIN";
const client = net.connect(80, "nothing.invalid");
client.on("lookup", (error, address, family, host) => console.log("lookup", unknown(error.code), address, family, host));
client.on("error", (error) => {
  console.log(error.message === `getaddrinfo ${error.code} nothing.invalid`, unknown(error.code), error.errno < -3000, error.syscall, error.hostname);
  console.log(Object.keys(error).join());
});
client.on("close", (hadError) => console.log("close", hadError));

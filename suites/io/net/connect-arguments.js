const net = require("node:net");
for (const args of [[], [{}], [70000], [-1], ["x".repeat(3), "h", 1], [{ port: "12x" }], [{ port: 1, host: 5 }], [{ port: 1, localAddress: "nope" }],
  [{ port: 1, lookup: 5, host: "h" }], [{ path: 5 }], [NaN], [1.5]]) {
  try {
    const client = net.connect(...args);
    client.on("error", (error) => console.log("error", error.code));
    console.log("fine");
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}

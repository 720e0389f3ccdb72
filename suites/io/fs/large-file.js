const fs = require("node:fs");
const big = Buffer.alloc(5_000_000, "0123456789");
fs.writeFileSync("big", big);
console.log(fs.statSync("big").size, fs.readFileSync("big").equals(big));
fs.promises.readFile("big", "latin1").then((text) => {
  console.log(text.length, text.slice(-5));
  fs.readFile("big", (error, data) => console.log(error, data.length));
});

const fs = require("node:fs");
fs.writeFileSync("a", "x");
process.on("exit", () => console.log("exit"));
fs.promises.readFile("a", "utf8").then(async (text) => {
  console.log(text);
  await fs.promises.stat("a");
  console.log("second");
});
console.log("main done");

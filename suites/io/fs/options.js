const fs = require("node:fs");
fs.writeFileSync("a", "x");
for (const options of [1, true, Symbol("s"), "nope", { encoding: "nope" }, null, undefined, {}, () => {}, { encoding: "UTF8" }]) {
  try {
    console.log(fs.readFileSync("a", options));
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
for (const args of [["a"], ["a", undefined], ["a", "utf8", 5]]) {
  try {
    fs.readFile(...args);
  } catch (error) {
    console.log(error.code, error.message);
  }
}

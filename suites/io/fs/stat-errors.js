const fs = require("node:fs");
fs.writeFileSync("file", "");
fs.symlinkSync("nowhere", "dangling");
fs.symlinkSync("loop", "loop");
for (const path of ["missing", "file/x", "dangling", "loop", ""]) {
  for (const name of ["statSync", "lstatSync"]) {
    try {
      fs[name](path);
      console.log(name, path, "fine");
    } catch (error) {
      console.log(name, error.message, error.errno);
    }
  }
}
try {
  fs.statSync("x".repeat(300));
} catch (error) {
  console.log(error.code, error.errno);
}
fs.stat("missing", (error, stats) => console.log(error.message, stats));

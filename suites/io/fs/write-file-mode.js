const fs = require("node:fs");
process.umask?.(0o022);
fs.writeFileSync("a", "", { mode: 0o600 });
fs.writeFileSync("b", "", { mode: "755" });
console.log((fs.statSync("a").mode & 0o777).toString(8), (fs.statSync("b").mode & 0o777).toString(8));
fs.chmodSync("a", 0o640);
fs.chmodSync("b", "444");
console.log((fs.statSync("a").mode & 0o777).toString(8), (fs.statSync("b").mode & 0o777).toString(8));
for (const mode of ["9", -1, 1.5, {}, 2 ** 33]) {
  try {
    fs.chmodSync("a", mode);
  } catch (error) {
    console.log(error.code, error.message);
  }
}

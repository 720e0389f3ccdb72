const fs = require("node:fs");
fs.writeFileSync("a", "");
fs.utimesSync("a", 1000, 2000.5);
let stats = fs.statSync("a");
console.log(stats.atimeMs, stats.mtimeMs, stats.atime.toISOString(), stats.mtime.toISOString());
fs.utimesSync("a", new Date("2001-02-03T04:05:06.789Z"), "1234.25");
stats = fs.statSync("a");
console.log(stats.atimeMs, stats.mtimeMs);
fs.utimes("a", 5, 6, (error) => {
  console.log(error, fs.statSync("a").mtimeMs);
  fs.promises.utimes("missing", 1, 2).catch((error) => console.log(error.message));
});
for (const time of ["x", {}, NaN, undefined]) {
  try {
    fs.utimesSync("a", time, 1);
  } catch (error) {
    console.log(error.code, error.message);
  }
}

const fs = require("node:fs");
fs.writeFileSync("file", "12345");
fs.mkdirSync("dir");
fs.symlinkSync("file", "link");
const methods = ["isFile", "isDirectory", "isSymbolicLink", "isFIFO", "isSocket", "isBlockDevice", "isCharacterDevice"];
const show = (stats) => methods.filter((name) => stats[name]()).join();
console.log(show(fs.statSync("file")), show(fs.statSync("dir")), show(fs.statSync("link")), show(fs.lstatSync("link")));
console.log(show(fs.statSync("/dev/null")));
const stats = fs.statSync("file");
console.log(Object.keys(stats).join(), stats.size, stats instanceof fs.Stats, stats.constructor.name);
console.log(stats.mtime instanceof Date, Math.abs(stats.mtimeMs - Date.now()) < 60000, Number.isInteger(stats.ino));
console.log(fs.statSync("missing", { throwIfNoEntry: false }), fs.lstatSync("missing", { throwIfNoEntry: false }));
fs.stat("file", (error, stats) => {
  console.log(error, show(stats));
  fs.lstat("link", {}, (error, stats) => {
    console.log(error, show(stats));
    fs.promises.lstat("link").then((stats) => console.log(show(stats)));
  });
});

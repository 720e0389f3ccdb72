const fs = require("node:fs");
const path = require("node:path");
fs.mkdirSync("dir/sub", { recursive: true });
fs.writeFileSync("dir/file", "through");
fs.symlinkSync("dir", "link");
fs.symlinkSync("link/file", "chain", "file");
const root = fs.realpathSync(".");
const show = (value) => path.relative(root, value);
console.log(fs.readlinkSync("link"), fs.readlinkSync("chain", "buffer"), fs.readFileSync("chain", "utf8"));
console.log(show(fs.realpathSync("chain")), show(fs.realpathSync("link/sub/..")), show(fs.realpathSync.native("link")));
for (const [name, ...args] of [["readlinkSync", "dir"], ["readlinkSync", "x"], ["symlinkSync", "a", "link"], ["symlinkSync", "a", "b", "bad"]]) {
  try {
    fs[name](...args);
  } catch (error) {
    console.log(error.code, error.message);
  }
}
try {
  fs.realpathSync("dir/none/deep");
} catch (error) {
  console.log(error.code, error.syscall, show(error.path));
}
fs.readlink("link", (error, target) => {
  console.log(error, target);
  fs.realpath("chain", (error, target) => {
    console.log(error, show(target));
    fs.promises.realpath("nope").catch((error) => console.log(error.message));
  });
});

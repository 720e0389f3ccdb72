const fs = require("node:fs");
const make = () => {
  fs.mkdirSync("d/e/f", { recursive: true });
  fs.writeFileSync("d/e/x", "");
  fs.writeFileSync("d/e/f/y", "");
  fs.symlinkSync("..", "d/up");
};
make();
fs.rmSync("d", { recursive: true });
console.log(fs.existsSync("d"), fs.rmSync("missing", { force: true }));
make();
fs.writeFileSync("file", "");
fs.symlinkSync("d", "link");
fs.rmSync("file");
fs.rmSync("link");
console.log(fs.readdirSync("."));
fs.rm("d", { recursive: true, force: true }, (error) => {
  console.log(error, fs.readdirSync("."));
  make();
  fs.promises.rm("d", { recursive: true, maxRetries: 2, retryDelay: 1 }).then((value) => console.log(value, fs.readdirSync(".")));
});

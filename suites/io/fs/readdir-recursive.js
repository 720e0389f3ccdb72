const fs = require("node:fs");
fs.mkdirSync("a/b/c", { recursive: true });
fs.mkdirSync("a/d");
fs.mkdirSync("z");
for (const name of ["f", "a/g", "a/b/h", "a/b/c/i", "a/d/j", "z/k"]) fs.writeFileSync(name, "");
fs.symlinkSync("a/d", "link");
console.log(fs.readdirSync(".", { recursive: true }));
console.log(fs.readdirSync("./a/", { recursive: true, withFileTypes: true }).map((one) => [one.parentPath, one.name]));
(async () => {
  console.log(await fs.promises.readdir(".", { recursive: true }));
  const list = await fs.promises.readdir("a", { recursive: true, withFileTypes: true });
  console.log(list.map((one) => [one.path, one.name, one.isDirectory()]));
})();

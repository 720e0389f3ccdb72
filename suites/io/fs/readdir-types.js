const fs = require("node:fs");
fs.mkdirSync("dir");
fs.writeFileSync("file", "");
fs.symlinkSync("file", "link");
const list = fs.readdirSync(".", { withFileTypes: true });
console.log(list);
for (const entry of list) {
  console.log(entry.name, entry.isFile(), entry.isDirectory(), entry.isSymbolicLink(), entry.isFIFO(), entry.isSocket(),
    entry.isBlockDevice(), entry.isCharacterDevice(), entry instanceof fs.Dirent, entry.parentPath, entry.path);
}
fs.promises.readdir("./dir/..", { withFileTypes: true }).then((list) => {
  console.log(list.map((entry) => `${entry.parentPath}:${entry.name}`));
});

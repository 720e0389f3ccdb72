const fs = require("node:fs");
fs.writeFileSync("a", "text", { mode: 0o755 });
fs.renameSync("a", "b");
fs.copyFileSync("b", "c");
fs.linkSync("c", "d");
console.log(fs.readdirSync("."), fs.statSync("c").nlink, (fs.statSync("c").mode & 0o777).toString(8));
fs.copyFileSync("b", "b");
console.log(fs.readFileSync("b", "utf8"));
fs.writeFileSync("long", "something longer");
fs.copyFileSync("b", "long");
console.log(fs.readFileSync("long", "utf8"));
fs.mkdirSync("dir");
const tries = [["renameSync", "x", "y"], ["copyFileSync", "x", "y"], ["copyFileSync", "b", "c", fs.constants.COPYFILE_EXCL],
  ["copyFileSync", "dir", "y"], ["copyFileSync", "b", "dir"], ["linkSync", "x", "y"], ["linkSync", "b", "c"], ["renameSync", "b", "dir"],
  ["renameSync", "b"], ["copyFileSync", "b", "c", 9], ["copyFileSync", "b", 5]];
for (const [name, ...args] of tries) {
  try {
    fs[name](...args);
  } catch (error) {
    console.log(error.code, error.message, error.dest);
  }
}
fs.copyFile("b", "e", (error) => {
  console.log(error, fs.readFileSync("e", "utf8"));
  fs.rename("e", "f", (error) => {
    console.log(error);
    fs.promises.copyFile("f", "g", 0).then((value) => console.log(value, fs.readdirSync(".").join()));
  });
});

const fs = require("node:fs");
for (const name of ["b", "a", "C", "ä", "10", "9", ".hidden"]) fs.writeFileSync(name, "");
fs.mkdirSync("dir");
fs.symlinkSync("a", "link");
console.log(fs.readdirSync("."));
console.log(fs.readdirSync(".", "buffer")[0], fs.readdirSync(".", { encoding: "hex" })[0]);
console.log(fs.readdirSync(process.cwd()).length, fs.readdirSync("dir"));
fs.readdir(".", (error, names) => {
  console.log(error, names.length);
  fs.promises.readdir(".").then((names) => console.log(names.join()));
});

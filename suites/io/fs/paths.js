const fs = require("node:fs");
const { pathToFileURL } = require("node:url");
fs.writeFileSync("a b#c", "content");
console.log(fs.readFileSync(Buffer.from("a b#c"), "utf8"), fs.readFileSync(pathToFileURL("a b#c"), "utf8"));
console.log(fs.existsSync(pathToFileURL("a b#c")), fs.existsSync(new URL("http://x/")));
for (const path of [undefined, null, 5.5, true, {}, [], () => {}, "a\0b", Buffer.from([65, 0]), new URL("http://host/x"), -1]) {
  try {
    fs.readFileSync(path);
    console.log("fine");
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
try {
  fs.readFileSync(Buffer.from("bücher"));
} catch (error) {
  console.log(error.message, error.path);
}

const fs = require("node:fs");
fs.writeFileSync("a", "0123456789");
fs.truncateSync("a", 4);
console.log(fs.readFileSync("a", "utf8"));
fs.truncateSync("a", 6);
console.log(fs.readFileSync("a"));
fs.truncateSync("a");
console.log(fs.statSync("a").size);
fs.writeFileSync("a", "abc");
fs.truncate("a", 1, (error) => {
  console.log(error, fs.readFileSync("a", "utf8"));
  fs.promises.truncate("missing").catch((error) => console.log(error.message));
});
for (const length of ["1", 1.5]) {
  try {
    fs.truncateSync("a", length);
  } catch (error) {
    console.log(error.code, error.message);
  }
}

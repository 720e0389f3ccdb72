const fs = require("node:fs");
fs.writeFileSync("a", "", { mode: 0o644 });
console.log(fs.existsSync("a"), fs.existsSync("b"), fs.existsSync(), fs.existsSync("\0"), fs.existsSync({}));
console.log(fs.accessSync("a"), fs.accessSync("a", fs.constants.R_OK));
fs.exists("a", (found) => {
  console.log("exists", found);
  fs.exists("b", (found) => {
    console.log("exists", found);
    fs.access("b", (error) => {
      console.log(error.message, error.syscall);
      fs.promises.access("a").then((value) => console.log(value));
    });
  });
});
try {
  fs.accessSync("b", fs.constants.F_OK);
} catch (error) {
  console.log(error.message, error.path);
}

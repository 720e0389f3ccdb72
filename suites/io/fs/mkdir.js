const fs = require("node:fs");
console.log(fs.mkdirSync("a"), fs.mkdirSync("b", 0o700), (fs.statSync("b").mode & 0o777).toString(8));
console.log(fs.mkdirSync("c/d/e", { recursive: true }), fs.mkdirSync("c/d/f/g/", { recursive: true }));
console.log(fs.mkdirSync("c/d", { recursive: true }), fs.mkdirSync("./x/../y", { recursive: true }));
fs.mkdir("h/i", { recursive: true }, (error, first) => {
  console.log(error, first);
  fs.mkdir("h/i", (error) => {
    console.log(error.message);
    fs.promises.mkdir("h/j/k", { recursive: true, mode: 0o711 }).then((first) => {
      console.log(first, (fs.statSync("h/j/k").mode & 0o777).toString(8));
      return fs.promises.mkdir("h/j/k", { recursive: true });
    }).then(console.log);
  });
});

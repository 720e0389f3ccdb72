const fs = require("node:fs");
fs.mkdirSync("dir");
let left = ["missing", "dir", "dir/below"];
(function next() {
  const path = left.shift();
  if (path === undefined) return;
  fs.readFile(path, "utf8", (error, data) => {
    console.log(error.message, Object.entries(error).join(), data);
    next();
  });
})();
console.log("not yet");

const fs = require("node:fs");
console.log(typeof fs.createReadStream, typeof fs.createWriteStream, typeof fs.watch);
console.log(fs.promises === require("node:fs/promises"), fs.constants === fs.promises.constants, fs.constants.R_OK, fs.F_OK);
console.log(require("fs") === fs, require("fs/promises") === fs.promises);

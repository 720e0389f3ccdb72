const fs = require("node:fs");
fs.mkdirSync("dir");
fs.writeFileSync("file", "");
for (const path of ["missing", "dir", "file/below", "missing/below"]) {
  try {
    fs.readFileSync(path);
  } catch (error) {
    console.log(error.message, error.code, error.errno, error.syscall, error.path, error instanceof Error, error.name);
  }
}

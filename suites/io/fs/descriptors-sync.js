const fs = require("node:fs");
const fd = fs.openSync("a", "w+");
console.log(Number.isInteger(fd), fs.writeSync(fd, "hello world"), fs.writeSync(fd, Buffer.from("HEY"), 0, 3, 0));
console.log(fs.writeSync(fd, "zz", 9), fs.fstatSync(fd).size);
const buffer = Buffer.alloc(8, ".");
console.log(fs.readSync(fd, buffer, 0, 8, 0), buffer.toString(), fs.readSync(fd, buffer, 2, 3, 4), buffer.toString());
console.log(fs.readSync(fd, buffer, { position: 9 }), buffer.toString(), fs.readSync(fd, buffer, 0, 8, 100));
fs.ftruncateSync(fd, 5);
fs.fsyncSync(fd);
console.log(fs.readFileSync("a", "utf8"), fs.closeSync(fd));
for (const f of [() => fs.closeSync(fd), () => fs.readSync(fd, buffer), () => fs.writeSync(fd, "x"), () => fs.fstatSync(fd), () => fs.closeSync("x"),
  () => fs.readSync(0.5, buffer), () => fs.openSync("no/such", "r"), () => fs.openSync("a", "wx"), () => fs.openSync("a", "q")]) {
  try {
    f();
    console.log("fine");
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}

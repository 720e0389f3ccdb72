const fs = require("node:fs");
const one = fs.mkdtempSync("tmp-");
const two = fs.mkdtempSync("tmp-");
console.log(/^tmp-[A-Za-z0-9]{6}$/.test(one), one !== two, fs.statSync(one).isDirectory(), (fs.statSync(one).mode & 0o777).toString(8));
fs.mkdtemp("x-", (error, path) => {
  console.log(error, path.length, fs.existsSync(path));
  fs.promises.mkdtemp("y-").then((path) => console.log(path.length));
});
try {
  fs.mkdtempSync("no/such-");
} catch (error) {
  console.log(error.message, error.code);
}
try {
  fs.mkdtempSync(5);
} catch (error) {
  console.log(error.message);
}

const fs = require("node:fs");
fs.writeFileSync("a", "x");
let isLater = false;
// Which of the two comes first is not said.
let left = 2;
const seen = [];
function done(name) {
  seen.push(`${name} ${isLater}`);
  left -= 1;
  if (left === 0) {
    console.log(seen.sort().join(", "));
    then();
  }
}
fs.stat("a", () => done("stat"));
fs.readFile("missing", () => done("missing"));
process.nextTick(() => console.log("tick"));
Promise.resolve().then(() => console.log("microtask"));
isLater = true;
console.log("main");
function then() {
  fs.stat("a", () => {
    console.log("callback");
    process.nextTick(() => console.log("tick 2"));
    Promise.resolve().then(() => console.log("microtask 2"));
    setImmediate(() => console.log("immediate 2"));
  });
}

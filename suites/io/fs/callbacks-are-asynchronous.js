const fs = require("node:fs");
fs.writeFileSync("a", "x");
let isLater = false;
fs.stat("a", () => console.log("stat", isLater));
fs.readFile("missing", () => console.log("missing", isLater));
process.nextTick(() => console.log("tick"));
Promise.resolve().then(() => console.log("microtask"));
isLater = true;
console.log("main");
setTimeout(() => {
  fs.stat("a", () => {
    console.log("callback");
    process.nextTick(() => console.log("tick 2"));
    Promise.resolve().then(() => console.log("microtask 2"));
    setImmediate(() => console.log("immediate 2"));
  });
}, 50);

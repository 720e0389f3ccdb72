setTimeout(() => console.log("timer"), 0);
setImmediate(() => console.log("immediate"));
process.nextTick(() => console.log("tick"));
Promise.resolve().then(() => console.log("microtask"));
process.on("exit", () => {
  process.nextTick(() => console.log("tick of exit"));
  Promise.resolve().then(() => console.log("microtask of exit"));
});
console.log("before");
process.exit(1);
console.log("after");

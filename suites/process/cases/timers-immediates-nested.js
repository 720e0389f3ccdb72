setImmediate(() => {
  console.log("a");
  setImmediate(() => console.log("of a"));
  process.nextTick(() => console.log("tick of a"));
});
setImmediate(() => {
  console.log("b");
  Promise.resolve().then(() => console.log("microtask of b"));
});
setImmediate(() => console.log("c"));

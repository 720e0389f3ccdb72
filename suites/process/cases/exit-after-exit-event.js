process.on("exit", (code) => {
  console.log("exit", code);
  setTimeout(() => console.log("timer"), 0);
  setImmediate(() => console.log("immediate"));
  Promise.resolve().then(() => console.log("microtask"));
  process.nextTick(() => console.log("tick"));
});

process.on("beforeExit", () => {
  console.log("beforeExit");
  process.nextTick(() => console.log("tick"));
  Promise.resolve().then(() => console.log("microtask"));
});
process.on("exit", () => console.log("exit"));

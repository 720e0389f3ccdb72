process.on("uncaughtException", (error) => console.log("handled", error.message));
process.nextTick(() => {
  console.log("first tick");
  throw new Error("tick");
});
process.nextTick(() => console.log("second tick"));
Promise.resolve().then(() => console.log("microtask"));
queueMicrotask(() => {
  throw new Error("microtask");
});
queueMicrotask(() => console.log("last microtask"));
setImmediate(() => console.log("immediate"));

process.on("uncaughtException", (error, origin) => console.log("handled", error.message, origin));
queueMicrotask(() => {
  throw new Error("microtask");
});
queueMicrotask(() => console.log("next microtask"));
process.nextTick(() => console.log("tick"));
setImmediate(() => console.log("immediate"));

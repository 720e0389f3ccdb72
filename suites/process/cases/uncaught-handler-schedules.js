process.on("uncaughtException", (error) => {
  console.log("handled", error.message);
  process.nextTick(() => console.log("tick"));
  Promise.resolve().then(() => console.log("microtask"));
  setImmediate(() => console.log("immediate"));
});
throw new Error("x");

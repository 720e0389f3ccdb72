process.on("uncaughtException", (error) => console.log("handled", error.message));
setTimeout(() => {
  process.nextTick(() => console.log("tick"));
  Promise.resolve().then(() => console.log("microtask"));
  throw new Error("timer");
}, 1);
setTimeout(() => console.log("next timer"), 1);

process.on("uncaughtException", (error) => console.log("handled", error.message));
setImmediate(() => {
  process.nextTick(() => console.log("tick"));
  throw new Error("immediate");
});
setImmediate(() => console.log("next immediate"));

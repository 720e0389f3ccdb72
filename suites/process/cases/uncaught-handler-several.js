process.on("uncaughtException", (error) => console.log("first", error.message));
process.on("uncaughtException", (error) => console.log("second", error.message));
process.once("uncaughtException", (error) => console.log("once", error.message));
setTimeout(() => {
  throw new Error("two");
}, 1);
throw new Error("one");

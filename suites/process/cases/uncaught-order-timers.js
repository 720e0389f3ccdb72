process.on("uncaughtException", (error) => console.log("handled", error.message));
setTimeout(() => {
  process.nextTick(() => console.log("tick"));
  Promise.resolve().then(() => console.log("microtask"));
  throw new Error("timer");
}, 1);
setTimeout(() => console.log("next timer"), 1);
// Both shall be due in the same turn of the loop.
const end = Date.now() + 5;
while (Date.now() < end);

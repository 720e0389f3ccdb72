setTimeout(() => {
  throw new Error("timer");
}, 1);
setTimeout(() => console.log("never"), 1);
process.on("exit", (code) => console.log("exit", code));

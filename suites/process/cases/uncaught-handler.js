process.on("uncaughtException", (error, origin) => console.log("handled", error.message, origin));
process.on("exit", (code) => console.log("exit", code));
setTimeout(() => console.log("goes on"), 1);
throw new Error("one");

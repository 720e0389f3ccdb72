setTimeout(() => process.exit(3), 1);
setTimeout(() => console.log("later"), 1);
process.on("exit", (code) => console.log("exit", code));

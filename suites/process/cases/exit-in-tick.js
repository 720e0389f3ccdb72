process.nextTick(() => process.exit(3));
process.nextTick(() => console.log("next"));
process.on("exit", (code) => console.log("exit", code));

Promise.resolve().then(() => process.exit(3));
Promise.resolve().then(() => console.log("next"));
process.on("exit", (code) => console.log("exit", code));

process.on("uncaughtException", () => process.exit());
process.on("exit", (code) => console.log("exit", code));
throw new Error("x");

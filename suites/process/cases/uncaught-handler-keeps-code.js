process.on("uncaughtException", () => {});
process.on("exit", (code) => console.log("exit", code));
process.exitCode = 6;
throw new Error("x");

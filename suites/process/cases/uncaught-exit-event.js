process.exitCode = 5;
process.on("exit", (code) => console.log("exit", code, process.exitCode));
throw new Error("x");

process.exitCode = "7";
process.on("exit", (code) => console.log(typeof code, code, typeof process.exitCode));

process.exitCode = -1;
process.on("exit", (code) => console.log(code));

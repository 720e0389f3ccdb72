process.exitCode = 256 + 3;
process.on("exit", (code) => console.log(code));

setTimeout(() => process.exit(), 1);
process.on("exit", (code) => console.log(code, process.exitCode));
await new Promise(() => {});

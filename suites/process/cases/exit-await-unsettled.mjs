process.on("exit", (code) => console.log(code, process.exitCode));
await new Promise(() => {});
console.log("never");

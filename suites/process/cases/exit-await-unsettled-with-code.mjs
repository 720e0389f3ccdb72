process.on("beforeExit", (code) => console.log("beforeExit", code));
process.exitCode = 3;
await new Promise(() => {});

process.on("exit", (code) => console.log("exit", code, process._exiting));
process.emit("exit", 5);
console.log(process.exitCode);

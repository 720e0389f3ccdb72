process.on("exit", () => console.log("the end"));
console.log("x".repeat(300000).length);
process.stdout.write(`${"0123456789".repeat(20000)}\n`);
process.exit(0);

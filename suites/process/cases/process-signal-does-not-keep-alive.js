process.on("SIGUSR2", () => {});
console.log("end");

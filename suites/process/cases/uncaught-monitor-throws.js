process.on("uncaughtExceptionMonitor", () => {
  throw new Error("monitor");
});
process.on("uncaughtException", () => console.log("never"));
process.on("exit", () => console.log("never"));
throw new Error("thrown");

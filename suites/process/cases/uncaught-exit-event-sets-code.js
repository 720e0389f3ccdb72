process.on("exit", () => {
  process.exitCode = 9;
});
throw new Error("x");

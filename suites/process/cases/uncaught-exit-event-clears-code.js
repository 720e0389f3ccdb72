process.on("exit", () => {
  process.exitCode = undefined;
});
throw new Error("x");

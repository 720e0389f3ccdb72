process.on("exit", () => {
  process.exitCode = 4;
});
process.exit();

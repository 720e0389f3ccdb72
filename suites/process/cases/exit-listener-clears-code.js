process.on("exit", (code) => {
  console.log(code);
  process.exitCode = undefined;
});
process.exit(8);

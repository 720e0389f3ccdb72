process.on("exit", (code) => {
  console.log(code);
  process.exit();
});
process.exitCode = 8;

process.on("exit", (code) => {
  console.log("first", code);
  process.exit(4);
});
process.on("exit", () => console.log("second does not run"));
process.exit(3);

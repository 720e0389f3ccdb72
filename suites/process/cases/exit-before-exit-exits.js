process.on("beforeExit", () => {
  console.log("beforeExit");
  process.exit(2);
});
process.on("exit", (code) => console.log("exit", code));

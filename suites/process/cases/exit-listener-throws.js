process.on("exit", (code) => {
  console.log("exit", code);
  throw new Error("in exit");
});
process.on("exit", () => console.log("does not run"));

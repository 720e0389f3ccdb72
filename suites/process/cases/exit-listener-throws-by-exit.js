process.on("exit", (code) => {
  console.log("exit", code);
  throw new Error("in exit");
});
process.exit(2);

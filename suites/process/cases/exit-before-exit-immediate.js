process.once("beforeExit", () => {
  console.log("first");
  setImmediate(() => console.log("immediate"));
  process.on("beforeExit", () => console.log("again"));
});

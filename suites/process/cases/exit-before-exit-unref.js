process.on("beforeExit", () => {
  console.log("beforeExit");
  setTimeout(() => console.log("not awaited"), 1).unref();
});

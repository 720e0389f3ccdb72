process.on("exit", () => {
  throw new Error("is not shown");
});
throw new Error("is shown");

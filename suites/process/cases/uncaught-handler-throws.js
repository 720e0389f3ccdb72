process.on("uncaughtException", (error) => {
  console.log("handler", error.message);
  throw new Error("second");
});
process.on("exit", () => console.log("not emitted"));
throw new Error("first");

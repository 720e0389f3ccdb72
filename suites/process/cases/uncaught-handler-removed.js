process.on("uncaughtException", function handler(error) {
  console.log(error.message);
  process.off("uncaughtException", handler);
  setTimeout(() => {
    throw new Error("two");
  }, 1);
});
process.on("exit", (code) => console.log("exit", code));
throw new Error("one");

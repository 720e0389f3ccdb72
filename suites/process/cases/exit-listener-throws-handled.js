process.on("exit", (code) => {
  console.log("exit", code);
  throw new Error("in exit");
});
process.on("uncaughtException", (error, origin) => console.log("handled", error.message, origin));

let rounds = 0;
process.on("beforeExit", () => {
  console.log("beforeExit", rounds);
  if (rounds++ === 0) throw new Error("once");
});
process.on("uncaughtException", (error) => console.log("handled", error.message));
process.on("exit", (code) => console.log("exit", code));

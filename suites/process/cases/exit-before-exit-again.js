let rounds = 0;
process.on("beforeExit", (code) => {
  console.log("beforeExit", code, rounds);
  if (rounds++ < 2) setTimeout(() => console.log("timer"), 1);
});
process.on("exit", (code) => console.log("exit", code));

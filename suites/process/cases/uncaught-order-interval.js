let count = 0;
const interval = setInterval(() => {
  console.log("interval");
  throw new Error("x");
}, 1);
process.on("uncaughtException", () => {
  if (++count === 3) clearInterval(interval);
});

process.nextTick(() => {
  throw new Error("tick");
});
process.nextTick(() => console.log("never"));
Promise.resolve().then(() => console.log("never"));

setImmediate(() => {
  throw new Error("immediate");
});
setImmediate(() => console.log("never"));

setImmediate(() => {
  console.log("a");
  clearImmediate(b);
  clearImmediate(b);
  setImmediate(() => console.log("d"));
});
const b = setImmediate(() => console.log("never"));
setImmediate(() => console.log("c"));

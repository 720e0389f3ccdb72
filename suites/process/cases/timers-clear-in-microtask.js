setImmediate(() => {
  console.log("a");
  Promise.resolve().then(() => clearImmediate(b));
});
const b = setImmediate(() => console.log("never"));

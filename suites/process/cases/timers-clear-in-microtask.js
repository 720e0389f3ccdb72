setImmediate(() => {
  console.log("a");
  Promise.resolve().then(() => clearImmediate(b));
});
const b = setImmediate(() => console.log("never"));
setTimeout(() => process.nextTick(() => clearTimeout(d)), 1);
const d = setTimeout(() => console.log("never"), 1);

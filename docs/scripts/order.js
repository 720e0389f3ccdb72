setTimeout(() => {
  console.log("5 a timer");
  setImmediate(() => console.log("8 an immediate, in the same tick"));
  setTimeout(() => console.log("9 a timer of a timer, in a later one"), 0);
  Promise.resolve().then(() => console.log("7 its microtask"));
  process.nextTick(() => console.log("6 its next tick"));
}, 5);
queueMicrotask(() => console.log("3 a microtask"));
Promise.resolve().then(() => console.log("4 a promise, which is one, too"));
process.nextTick(() => console.log("2 next tick"));
console.log("1 the script, to its end");

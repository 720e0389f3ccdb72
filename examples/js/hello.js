// What runs when: `cargo run --release -- run examples/js/hello.js`. The order is specified, and the same every time.

console.log("1  the script");

setTimeout(() => {
  console.log("5  a timer");
  setTimeout(() => console.log("9  the timer of the next tick"), 0);
  setImmediate(() => console.log("8  an immediate"));
  queueMicrotask(() => console.log("7  a microtask of the timer"));
  process.nextTick(() => console.log("6  nextTick, before it"));
}, 1);

Promise.resolve().then(() => console.log("3  a promise"));
queueMicrotask(() => console.log("4  a microtask"));
process.nextTick(() => console.log("2  nextTick"));

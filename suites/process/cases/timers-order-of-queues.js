setTimeout(() => {
  console.log("timer");
  setImmediate(() => console.log("immediate of timer"));
  setTimeout(() => console.log("timer of timer"), 0);
  process.nextTick(() => console.log("tick of timer"));
  Promise.resolve().then(() => console.log("microtask of timer"));
}, 1);
process.nextTick(() => {
  console.log("tick");
  Promise.resolve().then(() => {
    console.log("microtask of tick");
    process.nextTick(() => console.log("tick of microtask"));
    queueMicrotask(() => console.log("microtask of microtask"));
  });
  process.nextTick(() => console.log("tick of tick"));
});
Promise.resolve().then(() => console.log("microtask"));
console.log("main");

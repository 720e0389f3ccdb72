queueMicrotask(() => console.log("first"));
Promise.resolve().then(() => console.log("second"));
queueMicrotask(() => console.log("third"));
console.log(queueMicrotask(() => {}), process.nextTick(() => {}));

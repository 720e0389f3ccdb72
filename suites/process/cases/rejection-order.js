process.on("unhandledRejection", (reason) => console.log("unhandled", reason));
setImmediate(() => console.log("immediate"));
process.nextTick(() => console.log("tick"));
Promise.reject(1);
Promise.resolve().then(() => Promise.reject(2));
Promise.resolve().then(() => console.log("microtask"));
console.log("main");

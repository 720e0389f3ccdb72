process.setUncaughtExceptionCaptureCallback((error) => console.log("captured", error.message));
console.log(process.hasUncaughtExceptionCaptureCallback());
process.on("uncaughtException", () => console.log("never"));
process.on("uncaughtExceptionMonitor", (error) => console.log("monitor", error.message));
setTimeout(() => {
  throw new Error("two");
}, 1);
Promise.reject(new Error("rejected"));
throw new Error("one");

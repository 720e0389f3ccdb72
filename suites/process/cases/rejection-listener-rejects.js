process.on("unhandledRejection", (reason) => {
  console.log("unhandled", reason);
  if (reason < 3) Promise.reject(reason + 1);
  process.nextTick(() => console.log("tick"));
});
Promise.reject(1);
setImmediate(() => console.log("immediate"));

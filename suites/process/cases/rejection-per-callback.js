process.on("unhandledRejection", (reason) => console.log("unhandled", reason));
setTimeout(() => {
  Promise.reject("of the first timer");
  console.log("first timer");
}, 1);
setTimeout(() => console.log("second timer"), 1);

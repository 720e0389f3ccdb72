const late = Promise.reject(new Error("late"));
process.on("unhandledRejection", (reason, promise) => console.log("unhandled", reason.message, promise === late));
process.on("rejectionHandled", (promise) => console.log("handled", promise === late));
setTimeout(() => {
  late.catch((error) => console.log("caught", error.message));
  console.log("attached");
}, 1);

const promise = Promise.reject(1);
process.on("unhandledRejection", (reason) => {
  console.log("unhandled", reason);
  promise.catch(() => console.log("caught"));
});
process.on("rejectionHandled", () => console.log("handled"));

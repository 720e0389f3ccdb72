process.on("unhandledRejection", (reason) => {
  throw new Error(`listener of ${reason.message}`);
});
process.on("uncaughtException", (error, origin) => console.log(error.message, origin));
Promise.reject(new Error("rejected"));

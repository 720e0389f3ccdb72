process.on("unhandledRejection", (reason) => {
  throw new Error(`listener of ${reason}`);
});
Promise.reject(1);

process.on("uncaughtException", (error, origin) => {
  console.log(origin, error.name, error.code, error.message.slice(-20), error instanceof Error);
});
Promise.reject(new RangeError("an error"));
Promise.reject("a string");

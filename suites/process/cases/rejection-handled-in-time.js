const late = Promise.reject(new Error("handled in a microtask"));
Promise.resolve().then(() => late.catch((error) => console.log(error.message)));
const ticked = Promise.reject(new Error("handled in a tick"));
process.nextTick(() => ticked.catch((error) => console.log(error.message)));
const chained = Promise.reject(new Error("handled at the end of a chain"));
Promise.resolve().then(() => {}).then(() => {}).then(() => {}).then(() => {
  process.nextTick(() => chained.catch((error) => console.log(error.message)));
});
process.on("unhandledRejection", (reason) => console.log("unhandled", reason));

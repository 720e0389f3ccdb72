process.on("unhandledRejection", (reason, promise) => console.log("unhandled", reason, promise === derived));
const derived = Promise.reject("derived").then(() => console.log("never"));

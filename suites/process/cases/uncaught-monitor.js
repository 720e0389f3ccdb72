process.on("uncaughtExceptionMonitor", (error, origin) => console.log("monitor", error.message, origin));
process.on("uncaughtException", (error, origin) => console.log("handled", error.message, origin));
Promise.reject(new Error("rejected"));
throw new Error("thrown");

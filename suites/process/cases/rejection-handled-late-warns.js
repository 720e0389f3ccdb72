const late = Promise.reject(new Error("late"));
Promise.reject(new Error("never handled"));
process.on("unhandledRejection", (reason) => console.log("unhandled", reason.message));
setTimeout(() => late.catch(() => {}), 1);

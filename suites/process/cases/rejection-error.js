Promise.reject(new Error("rejected"));
setTimeout(() => console.log("never"), 1);
process.on("exit", (code) => console.log("exit", code));

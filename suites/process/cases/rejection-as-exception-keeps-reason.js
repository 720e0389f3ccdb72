const reason = new Error("the same");
process.on("uncaughtException", (error) => console.log(error === reason));
Promise.reject(reason);

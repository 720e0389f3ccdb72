process.on("unhandledRejection", (reason) => console.log("unhandled", reason));
Promise.all([Promise.reject(1), Promise.reject(2)]).catch((reason) => console.log("caught", reason));
Promise.race([Promise.reject(3), Promise.reject(4)]).catch((reason) => console.log("caught", reason));
Promise.any([Promise.reject(5)]).catch((error) => console.log("caught", error.errors));
Promise.reject(6).finally(() => console.log("finally"));

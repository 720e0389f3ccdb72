setTimeout(() => console.log("unreferenced"), 1).unref();
setTimeout(() => console.log("referenced"), 15);

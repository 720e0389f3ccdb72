setTimeout(() => console.log("never"), 20).unref();
setInterval(() => console.log("never"), 20).unref();
setTimeout(() => console.log("ended"), 1);

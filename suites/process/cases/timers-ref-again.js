setTimeout(() => console.log("runs"), 5).unref().ref();
setImmediate(() => console.log("immediate")).unref().ref();

process.on("newListener", (event) => console.log("new listener of", event));
process.on("event", (...args) => console.log("event", args));
process.once("event", () => console.log("once"));
console.log(process.emit("event", 1, 2), process.emit("event"), process.emit("nothing"));
console.log(process.listenerCount("event"), process.rawListeners("event").length, process.getMaxListeners());
process.removeAllListeners("event");
console.log(process.emit("event"), process.eventNames().includes("warning"));
process.prependListener("event", () => console.log("prepended"));
process.emit("event");

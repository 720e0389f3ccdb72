const { EventEmitter } = require("events");
const emitter = new EventEmitter();
emitter.on("event", () => {
  throw new Error("listener");
});
emitter.emit("event");

const { EventEmitter } = require("events");
const emitter = new EventEmitter();
for (let count = 0; count < 12; count++) emitter.on("event", () => {});
process.on("warning", (warning) => console.log(warning.name, warning.count, warning.type, warning.emitter === emitter));

const EventEmitter = require("events");
console.log(Object.prototype.toString.call(process), process[Symbol.toStringTag]);
console.log(process instanceof EventEmitter, process.constructor.name);
console.log(Object.getPrototypeOf(Object.getPrototypeOf(process)) === EventEmitter.prototype);
console.log(require("process") === process, require("node:process") === process);
console.log(typeof process.pid, typeof process.ppid, process.pid > 0, process.platform, process.arch);
console.log(process.version.startsWith("v20."), process.versions.node === process.version.slice(1));
console.log(process.release.name);

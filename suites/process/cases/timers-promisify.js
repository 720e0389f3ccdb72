const { promisify } = require("util");
const timers = require("timers");
const promises = require("timers/promises");
console.log(promisify(setTimeout) === promises.setTimeout, promisify(setImmediate) === promises.setImmediate);
console.log(timers.promises === promises, timers.setTimeout === setTimeout, Object.keys(promises));
promisify(setTimeout)(1, "value").then((value) => {
  console.log(value);
  promisify(setImmediate)("immediate").then(console.log);
});

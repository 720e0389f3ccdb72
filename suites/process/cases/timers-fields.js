const timeout = setTimeout(() => console.log("inside", timeout._destroyed, timeout._idleTimeout), 3.7);
console.log(timeout._destroyed, timeout._idleTimeout, timeout._repeat, typeof timeout._onTimeout, timeout._timerArgs);
const interval = setInterval(() => {}, 5, "argument");
console.log(interval._repeat, interval._idleTimeout, interval._timerArgs);
clearInterval(interval);
console.log(interval._destroyed, interval._idleTimeout, interval._onTimeout);
setTimeout(() => {
  console.log("after", timeout._destroyed, timeout._idleTimeout);
  const immediate = setImmediate(() => console.log("inside", immediate._destroyed));
  console.log(immediate._destroyed, typeof immediate._onImmediate);
}, 10);

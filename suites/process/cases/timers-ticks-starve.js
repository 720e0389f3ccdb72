let ticks = 0;
setImmediate(() => console.log("immediate"));
Promise.resolve().then(() => console.log("microtask", ticks));
(function tick() {
  if (++ticks < 1000) process.nextTick(tick);
})();

for (const start of [setTimeout, setInterval, setImmediate, process.nextTick, queueMicrotask]) {
  for (const callback of [undefined, null, "text", 1, {}, [], Symbol("s"), 1n, true]) {
    try {
      start(callback);
    } catch (error) {
      console.log(start.name, error.name, error.code, error.message);
    }
  }
}

const functions = [
  setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, queueMicrotask, process.nextTick,
];
for (const { name, length } of functions) console.log(name, length);
console.log(Object.keys(globalThis).filter((key) => /^(set|clear|queue)/.test(key)).sort());

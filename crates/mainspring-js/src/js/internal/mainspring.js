"use strict";

const { globals, reportsUncaught, ...options } = host.options();

// What only this runtime has.
module.exports = Object.freeze({
  version: host.version().mainspring,
  options: Object.freeze(options),

  // What was counted since the script began: calls by their kind, milliseconds, and bytes of the engine. If the loop
  // is observed, it has its own figures.
  metrics() {
    const { heapTotal, heapUsed } = host.memoryUsage();
    const metrics = { uptime: host.now(), ...host.stats(), heapTotal, heapUsed };
    const loop = host.loopMetrics();
    return loop ? { ...metrics, loop } : metrics;
  },

  // The promises of the loop itself, which are Rust's.
  get promise() {
    return require("internal/rust_promise");
  },

  // What keeps the loop from ending, for a person to read.
  whyAlive() {
    return host.whyAlive();
  },
});

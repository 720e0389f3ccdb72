"use strict";

const { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } =
  require("internal/timers");

module.exports = {
  setTimeout,
  clearTimeout,
  setImmediate,
  clearImmediate,
  setInterval,
  clearInterval,
};

// Loaded when they are asked for.
function lazy(names, load) {
  for (const name of names) {
    Object.defineProperty(module.exports, name, {
      get: () => load()[name],
      enumerable: true,
      configurable: true,
    });
  }
}

lazy(["_unrefActive", "active", "unenroll", "enroll"], () => require("internal/legacy_timers"));
lazy(["promises"], () => ({ promises: require("timers/promises") }));

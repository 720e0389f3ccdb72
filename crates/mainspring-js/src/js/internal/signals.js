"use strict";

const { status } = require("internal/process");

// Without a listener these do nothing; all others end the process.
const harmless = new Set(["SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH"]);
const watched = new Set();

// The number of a signal, if there is one of that name.
function number(name) {
  const signals = host.signals();
  return Object.hasOwn(signals, name) ? signals[name] : undefined;
}

// Begins to watch for a signal that `process` has its first listener for.
function start(name) {
  const signal = number(name);
  if (signal === undefined || watched.has(name)) return;
  host.watchSignal(signal, () => {
    // The listeners may have gone since. Then it is as if there had never been any.
    if (!status.object.emit(name, name, signal) && !harmless.has(name)) host.exit(128 + signal);
  });
  watched.add(name);
}

module.exports = { number, start };

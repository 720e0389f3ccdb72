"use strict";

// The deprecated functions of `timers` that make a timer of any object with `_onTimeout`.

const { invalidArgType, outOfRange } = require("internal/errors");
const { rearm } = require("internal/timers");
const { emitWarning } = require("internal/warning");

const MAX_DELAY = 2 ** 31 - 1;
const warned = new Set();

function warn(code, message) {
  if (warned.has(code)) return;
  warned.add(code);
  emitWarning(message, "DeprecationWarning", code);
}

function enroll(item, msecs) {
  warn("DEP0095", "timers.enroll() is deprecated. Please use setTimeout instead.");
  if (typeof msecs !== "number") throw invalidArgType("msecs", "number", msecs);
  if (!(msecs >= 0 && msecs < Infinity)) {
    throw outOfRange("msecs", "a non-negative finite number", msecs);
  }
  if (msecs > MAX_DELAY) {
    emitWarning(
      `${msecs} does not fit into a 32-bit signed integer.\nTimer duration was truncated to ${MAX_DELAY}.`,
      "TimeoutOverflowWarning",
    );
    msecs = MAX_DELAY;
  }
  stop(item);
  item._idleTimeout = msecs;
}

function stop(item) {
  if (item._id > 0) host.clearTimer(item._id);
  item._id = 0;
  item._idleTimeout = -1;
  item._idleNext = item._idlePrev = null;
}

function unenroll(item) {
  warn("DEP0096", "timers.unenroll() is deprecated. Please use clearTimeout instead.");
  stop(item);
}

// Scripts look at `_idleStart`, and by `_idleNext` and `_idlePrev` whether the item waits.
function start(item, isRef) {
  if (!(item._idleTimeout >= 0)) return;
  item._ref = isRef;
  item._idleStart = Math.trunc(host.now());
  item._idleNext = item._idlePrev = item;
  rearm(item);
}

function active(item) {
  warn("DEP0126", "timers.active() is deprecated. Please use timeout.refresh() instead.");
  start(item, true);
}

function _unrefActive(item) {
  warn("DEP0127", "timers._unrefActive() is deprecated. Please use timeout.refresh() instead.");
  start(item, false);
}

module.exports = { _unrefActive, active, enroll, unenroll };

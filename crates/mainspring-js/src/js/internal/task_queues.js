"use strict";

const { enqueueMicrotask, scheduleTicks } = host;
const status = require("internal/process").status;

// Ticks run from one array while new ones gather in the other, and then they change places. Neither shrinks, unless a
// burst has made it large. A tick without arguments is its function.
const KEEP = 1024;
let running = [];
let position = 0;
let end = 0;
let gathered = [];
let count = 0;
let isScheduled = false;

function notAFunction(callback) {
  return require("internal/errors").invalidArgType("callback", "function", callback);
}

function nextTick(callback, ...args) {
  if (typeof callback !== "function") throw notAFunction(callback);
  if (status.exiting) return;
  gathered[count++] = args.length === 0 ? callback : { callback, args };
  if (!isScheduled) {
    isScheduled = true;
    scheduleTicks();
  }
}

// Whoever calls this calls again if it throws: the other ticks are still there.
function runTicks() {
  for (;;) {
    while (position < end) {
      const tick = running[position];
      running[position++] = undefined;
      if (typeof tick === "function") tick();
      else {
        const { callback, args } = tick;
        callback(...args);
      }
    }
    if (count === 0) break;
    const spent = running;
    running = gathered;
    end = count;
    position = 0;
    count = 0;
    gathered = spent.length > KEEP ? [] : spent;
  }
  if (running.length > KEEP) running = [];
  position = 0;
  end = 0;
  isScheduled = false;
}

function queueMicrotask(callback) {
  if (typeof callback !== "function") throw notAFunction(callback);
  enqueueMicrotask(callback);
}

function runRejections(list) {
  require("internal/rejections").runRejections(list);
}

module.exports = { nextTick, queueMicrotask, runRejections, runTicks };

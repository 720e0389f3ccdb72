"use strict";

const { startTimer, clearTimer, resetTimer, refTimer, startImmediate, refImmediate, now } = host;
const clearHostImmediate = host.clearImmediate;
const { htmlTimers } = host.options();

const MAX_DELAY = 2147483647;
// Instead of the host's id of a timer: it is not armed, or its callback runs.
const IDLE = 0;
const RUNNING = -1;

// Timers that a script has turned into a number, and may clear by it.
const byNumber = new Map();
let lastNumber = 0;

// How deeply the callback that runs was nested in callbacks of timers. Counted for the HTML rule only.
let nesting = 0;

function notAFunction(callback) {
  return require("internal/errors").invalidArgType("callback", "function", callback);
}

function tooLong(after) {
  const message = `${after} does not fit into a 32-bit signed integer.\nTimeout duration was set to 1.`;
  require("internal/warning").emitWarning(message, "TimeoutOverflowWarning");
  return 1;
}

// What Node makes of a delay: a number from 1 to 2^31 - 1, everything else is 1.
function toDelay(after) {
  after *= 1;
  if (after >= 1 && after <= MAX_DELAY) return after;
  return after > MAX_DELAY ? tooLong(after) : 1;
}

// The delay of a timer by the HTML rule.
function clamped(timer) {
  timer._nesting = nesting + 1;
  return nesting > 5 ? Math.max(timer._idleTimeout, 4) : timer._idleTimeout;
}

// Has it run after its delay, of which so much has passed already.
function rearm(timer, passed = 0) {
  const ms = Math.max((htmlTimers ? clamped(timer) : timer._idleTimeout) - passed, 0);
  if (timer._id > IDLE && resetTimer(timer._id, ms)) return;
  timer._id = startTimer(timer, ms, timer._ref);
}

// What most timers have in common stands in the prototype, so that making one stays cheap. The host cuts
// fractions of milliseconds.
class Timeout {
  constructor(callback, after, isRef) {
    this._idleTimeout = after;
    this._onTimeout = callback;
    if (!isRef) this._ref = false;
    this._id = startTimer(this, htmlTimers ? clamped(this) : after, isRef);
  }

  get _destroyed() {
    return this._id === IDLE;
  }

  refresh() {
    if (this._idleTimeout >= 0) rearm(this);
    return this;
  }

  ref() {
    return setRef(this, true);
  }

  unref() {
    return setRef(this, false);
  }

  hasRef() {
    return this._ref;
  }

  close() {
    clearTimeout(this);
    return this;
  }

  [Symbol.dispose]() {
    clearTimeout(this);
  }

  [Symbol.toPrimitive]() {
    if (this._number === undefined) {
      this._number = ++lastNumber;
      byNumber.set(lastNumber, this);
    }
    return this._number;
  }
}
Object.assign(Timeout.prototype, { _timerArgs: undefined, _repeat: null, _ref: true, _number: undefined });

function setRef(timer, isRef) {
  if (timer._ref !== isRef) {
    timer._ref = isRef;
    if (timer._id > IDLE) refTimer(timer._id, isRef);
  }
  return timer;
}

function release(timer) {
  timer._id = IDLE;
  if (lastNumber > 0) byNumber.delete(timer._number);
}

function setTimeout(callback, after, ...args) {
  if (typeof callback !== "function") throw notAFunction(callback);
  // As toDelay, which would cost a call.
  after *= 1;
  if (!(after >= 1 && after <= MAX_DELAY)) after = after > MAX_DELAY ? tooLong(after) : 1;
  const timer = new Timeout(callback, after, true);
  if (args.length > 0) timer._timerArgs = args;
  return timer;
}

function setInterval(callback, after, ...args) {
  const timer = setTimeout(callback, after, ...args);
  timer._repeat = timer._idleTimeout;
  return timer;
}

function clearTimeout(timer) {
  if (!timer?._onTimeout) {
    if (typeof timer !== "number" && typeof timer !== "string") return;
    timer = byNumber.get(Number(timer));
    if (timer === undefined) return;
  }
  if (timer._id > IDLE) clearTimer(timer._id);
  timer._onTimeout = null;
  timer._idleTimeout = -1;
  timer._id = IDLE;
  if (lastNumber > 0) byNumber.delete(timer._number);
}

function clearInterval(timer) {
  clearTimeout(timer);
}

function runTimer(timer) {
  if (!timer._onTimeout) return release(timer);
  timer._id = RUNNING;
  const began = timer._repeat ? Math.trunc(now()) : 0;
  if (htmlTimers) nesting = timer._nesting;
  try {
    const args = timer._timerArgs;
    if (args === undefined) timer._onTimeout();
    else timer._onTimeout(...args);
  } finally {
    // Scripts may have made an interval of it, or no interval, by `_repeat`. The time of the callback counts.
    if (timer._repeat && timer._idleTimeout !== -1) {
      timer._idleTimeout = timer._repeat;
      rearm(timer, began === 0 ? 0 : Math.trunc(now()) - began);
    } else if (timer._id === RUNNING) release(timer);
    nesting = 0;
  }
  return undefined;
}

class Immediate {
  constructor(callback, isRef) {
    this._onImmediate = callback;
    if (!isRef) this._ref = false;
    this._id = startImmediate(this, isRef);
  }

  get _destroyed() {
    return this._id === IDLE;
  }

  ref() {
    return setImmediateRef(this, true);
  }

  unref() {
    return setImmediateRef(this, false);
  }

  hasRef() {
    return this._ref && this._id !== IDLE;
  }

  [Symbol.dispose]() {
    clearImmediate(this);
  }
}
Object.assign(Immediate.prototype, { _argv: undefined, _ref: true });

function setImmediateRef(immediate, isRef) {
  if (immediate._ref !== isRef && immediate._id !== IDLE) {
    immediate._ref = isRef;
    refImmediate(immediate._id, isRef);
  }
  return immediate;
}

function setImmediate(callback, ...args) {
  if (typeof callback !== "function") throw notAFunction(callback);
  const immediate = new Immediate(callback, true);
  if (args.length > 0) immediate._argv = args;
  return immediate;
}

function clearImmediate(immediate) {
  if (!(immediate instanceof Immediate) || immediate._id === IDLE) return;
  clearHostImmediate(immediate._id);
  immediate._id = IDLE;
  immediate._onImmediate = null;
}

function runImmediate(immediate) {
  immediate._id = IDLE;
  try {
    const args = immediate._argv;
    if (args === undefined) immediate._onImmediate();
    else immediate._onImmediate(...args);
  } finally {
    immediate._onImmediate = null;
  }
}

// Rest parameters are not counted by `length`, which Node's functions have up to the third argument.
for (const [timerFunction, length] of [[setTimeout, 5], [setInterval, 5], [setImmediate, 4]]) {
  Object.defineProperty(timerFunction, "length", { value: length, configurable: true });
  if (timerFunction === setInterval) continue;
  Object.defineProperty(timerFunction, Symbol.for("nodejs.util.promisify.custom"), {
    enumerable: true,
    get: () => require("timers/promises")[timerFunction.name],
  });
}

// Engines forget the layouts that an object has while it is made when no object has them any more, and making
// the next one is slower then. These keep those of timers.
const kept = [];
for (const [{ prototype }, names] of [
  [Timeout, ["_idleTimeout", "_onTimeout", "_id"]],
  [Immediate, ["_onImmediate", "_id"]],
]) {
  for (let count = 0; count <= names.length; count++) {
    const object = Object.create(prototype);
    for (const name of names.slice(0, count)) object[name] = null;
    kept.push(object);
  }
}

module.exports = {
  Immediate,
  Timeout,
  clearImmediate,
  clearInterval,
  clearTimeout,
  kept,
  rearm,
  runImmediate,
  runTimer,
  setImmediate,
  setInterval,
  setTimeout,
  toDelay,
};

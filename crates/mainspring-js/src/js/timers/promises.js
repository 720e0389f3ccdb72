"use strict";

const {
  AbortError, codeError, validateAbortSignal, validateBoolean, validateNumber, validateObject,
} = require("internal/errors");
const { Immediate, Timeout, clearImmediate, clearTimeout, toDelay } = require("internal/timers");

function validate(options) {
  validateObject(options, "options");
  const { signal, ref = true } = options;
  validateAbortSignal(signal, "options.signal");
  validateBoolean(ref, "options.ref");
  return { signal, ref };
}

function abortion(signal) {
  return new AbortError(undefined, { cause: signal.reason });
}

// A promise of what `start(resolve, isRef)` waits for, unless a signal comes before.
function waitFor(options, start, stop) {
  let signal, ref;
  try {
    ({ signal, ref } = validate(options));
  } catch (error) {
    return Promise.reject(error);
  }
  if (signal?.aborted) return Promise.reject(abortion(signal));
  let waiting;
  let onAbort;
  const result = new Promise((resolve, reject) => {
    waiting = start(resolve, ref);
    if (signal === undefined) return;
    onAbort = () => {
      stop(waiting);
      reject(abortion(signal));
    };
    signal.addEventListener("abort", onAbort, { once: true });
  });
  if (signal === undefined) return result;
  // As many turns of the microtask queue as Node takes.
  return new Promise((resolve, reject) => {
    new Promise((settle, refuse) => result.then(settle, refuse))
      .finally(() => signal.removeEventListener("abort", onAbort))
      .then(resolve, reject);
  });
}

function setTimeout(after, value, options = {}) {
  try {
    if (after !== undefined) validateNumber(after, "delay");
  } catch (error) {
    return Promise.reject(error);
  }
  const start = (resolve, ref) => new Timeout(() => resolve(value), toDelay(after), ref);
  return waitFor(options, start, clearTimeout);
}

function setImmediate(value, options = {}) {
  const start = (resolve, ref) => new Immediate(() => resolve(value), ref);
  return waitFor(options, start, clearImmediate);
}

async function* setInterval(after, value, options = {}) {
  if (after !== undefined) validateNumber(after, "delay");
  const { signal, ref } = validate(options);
  if (signal?.aborted) throw abortion(signal);
  let due = 0;
  let wake;
  const timer = new Timeout(
    () => {
      due += 1;
      wake?.();
    },
    toDelay(after), ref,
  );
  timer._repeat = timer._idleTimeout;
  const onAbort = () => {
    clearTimeout(timer);
    wake?.();
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    while (!signal?.aborted) {
      if (due === 0) {
        await new Promise((resolve) => {
          wake = resolve;
        });
      }
      for (; due > 0; due -= 1) yield value;
    }
    throw abortion(signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

class Scheduler {
  #isScheduler = true;

  constructor(key) {
    if (key !== Scheduler) throw codeError(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor");
  }

  static #check(value) {
    if (#isScheduler in Object(value)) return;
    throw codeError(TypeError, "ERR_INVALID_THIS", 'Value of "this" must be of type Scheduler');
  }

  yield() {
    Scheduler.#check(this);
    return setImmediate();
  }

  wait(delay, options) {
    Scheduler.#check(this);
    return setTimeout(delay, undefined, options);
  }
}

module.exports = { setTimeout, setImmediate, setInterval, scheduler: new Scheduler(Scheduler) };

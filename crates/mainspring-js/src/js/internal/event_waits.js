"use strict";

const { AbortError, invalidArgType, validateAbortSignal, validateFunction, validateInteger } =
  require("internal/errors");

const kWatermarkData = Symbol.for("nodejs.watermarkData");

function addListenerTo(emitter, name, listener, once) {
  if (typeof emitter?.on === "function") {
    if (once) emitter.once(name, listener);
    else emitter.on(name, listener);
  } else if (typeof emitter?.addEventListener === "function") {
    emitter.addEventListener(name, listener, { once });
  } else {
    throw invalidArgType("emitter", "EventEmitter", emitter);
  }
}

function removeListenerFrom(emitter, name, listener) {
  if (typeof emitter.removeListener === "function") emitter.removeListener(name, listener);
  else emitter.removeEventListener(name, listener);
}

// Listens to a signal, whatever its other listeners do. Gives the function that ends it.
function onAbort(signal, listener) {
  const { kResistStopPropagation } = require("internal/event_target");
  signal.addEventListener("abort", listener, { once: true, [kResistStopPropagation]: true });
  return () => signal.removeEventListener("abort", listener);
}

function abortErrorOf(signal) {
  return new AbortError(undefined, { cause: signal.reason });
}

// Throws what the caller, an async function, rejects with: a promise more would come later than Node's.
function once(emitter, name, options) {
  const signal = options?.signal;
  validateAbortSignal(signal, "options.signal");
  if (signal?.aborted) throw abortErrorOf(signal);
  return new Promise((resolve, reject) => {
    let stopWaiting;
    const settle = (settler, value) => {
      removeListenerFrom(emitter, name, onEvent);
      if (name !== "error" && typeof emitter.once === "function") emitter.removeListener("error", onError);
      stopWaiting?.();
      settler(value);
    };
    const onEvent = (...args) => settle(resolve, args);
    const onError = (error) => settle(reject, error);
    addListenerTo(emitter, name, onEvent, true);
    if (name !== "error" && typeof emitter.once === "function") emitter.once("error", onError);
    if (signal !== undefined) stopWaiting = onAbort(signal, () => settle(reject, abortErrorOf(signal)));
  });
}

function on(emitter, name, options) {
  const signal = options?.signal;
  validateAbortSignal(signal, "options.signal");
  if (signal?.aborted) throw abortErrorOf(signal);
  const high = options?.highWaterMark ?? options?.highWatermark ?? Number.MAX_SAFE_INTEGER;
  validateInteger(high, "options.highWaterMark", 1);
  const low = options?.lowWaterMark ?? options?.lowWatermark ?? 1;
  validateInteger(low, "options.lowWaterMark", 1);

  const queued = [];
  let taken = 0;
  const waiting = [];
  const listening = [];
  let paused = false;
  let failure;
  let finished = false;

  const listen = (type, listener) => {
    addListenerTo(emitter, type, listener, false);
    listening.push(() => removeListenerFrom(emitter, type, listener));
  };
  const finish = () => {
    for (const stop of listening.splice(0)) stop();
    finished = true;
    for (const { resolve } of waiting.splice(0)) resolve({ value: undefined, done: true });
    return Promise.resolve({ value: undefined, done: true });
  };
  const fail = (error) => {
    if (waiting.length > 0) waiting.shift().reject(error);
    else failure = { error };
    finish();
  };
  const size = () => queued.length - taken;
  const take = () => {
    const value = queued[taken];
    queued[taken++] = undefined;
    if (size() === 0) queued.length = taken = 0;
    return value;
  };
  const onEvent = (...args) => {
    if (waiting.length > 0) {
      waiting.shift().resolve({ value: args, done: false });
      return;
    }
    queued.push(args);
    if (!paused && size() > high) {
      paused = true;
      emitter.pause();
    }
  };

  listen(name, onEvent);
  if (name !== "error" && typeof emitter.on === "function") listen("error", fail);
  for (const type of options?.close ?? []) listen(type, finish);
  if (signal !== undefined) listening.push(onAbort(signal, () => fail(abortErrorOf(signal))));

  return Object.setPrototypeOf({
    next() {
      if (size() > 0) {
        const value = take();
        if (paused && size() < low) {
          emitter.resume();
          paused = false;
        }
        return Promise.resolve({ value, done: false });
      }
      if (failure !== undefined) {
        const { error } = failure;
        failure = undefined;
        return Promise.reject(error);
      }
      if (finished) return finish();
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    return() {
      return finish();
    },
    throw(error) {
      if (!(error instanceof Error)) throw invalidArgType("EventEmitter.AsyncIterator", "Error", error);
      fail(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    [kWatermarkData]: {
      get size() {
        return size();
      },
      get low() {
        return low;
      },
      get high() {
        return high;
      },
      get isPaused() {
        return paused;
      },
    },
  }, asyncIteratorPrototype());
}

function asyncIteratorPrototype() {
  return Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);
}

function addAbortListener(signal, listener) {
  if (signal === undefined) throw invalidArgType("signal", "AbortSignal", signal);
  validateAbortSignal(signal, "signal");
  validateFunction(listener, "listener");
  let stop;
  if (signal.aborted) host.enqueueMicrotask(() => listener());
  else stop = onAbort(signal, listener);
  return {
    __proto__: null,
    [Symbol.dispose]() {
      stop?.();
    },
  };
}

module.exports = { addAbortListener, on, once };

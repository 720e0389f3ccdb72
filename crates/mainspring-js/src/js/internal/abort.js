"use strict";

const { invalidArgType, validateInteger } = require("internal/errors");
const { defineInterface, illegalConstructor, invalidThis, isObject } = require("internal/webidl");
const {
  EventTarget, defineEventHandler, fireTrusted, innerOptions, inspectCustom, remove, slotsOf,
} = require("internal/event_target");

// Objects in the order they came, none of them kept alive. The dead are dropped as the list grows.
class WeakList {
  #refs = [];
  #limit = 16;

  add(object) {
    if (this.#refs.length >= this.#limit) {
      this.#refs = this.#refs.filter((ref) => ref.deref() !== undefined);
      this.#limit = Math.max(16, this.#refs.length * 2);
    }
    this.#refs.push(new WeakRef(object));
  }

  live() {
    return this.#refs.map((ref) => ref.deref()).filter((object) => object !== undefined);
  }
}

// Signals of timeouts that somebody listens to: their timers alone would not keep them.
const awaited = new Set();

function newState() {
  return {
    aborted: false,
    reason: undefined,
    isTimeout: false,
    sources: undefined, // of a dependent signal: the signals it follows
    dependents: undefined, // the signals that follow this one
    heard: undefined, // those of them that somebody listens to, kept as long as this one
    removals: undefined, // listeners that are to be removed
  };
}

const token = {};
let isAbortSignal;
let stateOf;

class AbortSignal extends EventTarget {
  #state = newState();

  static {
    isAbortSignal = (value) => isObject(value) && #state in value;
    stateOf = (value) => {
      try {
        return value.#state;
      } catch {
        throw invalidThis("AbortSignal");
      }
    };
  }

  constructor() {
    if (arguments[0] !== token) throw illegalConstructor();
    super();
    slotsOf(this).onListening = onListening;
  }

  static abort(reason = abortError()) {
    return abortedSignal(reason);
  }

  static timeout(delay) {
    validateInteger(delay, "delay", 0, 2 ** 32 - 1);
    const signal = new AbortSignal(token);
    stateOf(signal).isTimeout = true;
    startTimeout(signal, delay);
    return signal;
  }

  static any(signals) {
    if (!isObject(signals) || typeof signals[Symbol.iterator] !== "function") {
      throw invalidArgType("signals", "Array", signals);
    }
    const list = [...signals];
    list.forEach((signal, index) => {
      if (!isAbortSignal(signal)) throw invalidArgType(`signals[${index}]`, "AbortSignal", signal);
    });
    return dependentOn(list);
  }

  get aborted() {
    return stateOf(this).aborted;
  }

  get reason() {
    return stateOf(this).reason;
  }

  throwIfAborted() {
    const state = stateOf(this);
    if (state.aborted) throw state.reason;
  }

  [inspectCustom](depth, options, inspect) {
    const { name } = this.constructor;
    if (depth < 0) return options.stylize(`[${name}]`, "special");
    return `${name} ${inspect({ aborted: this.aborted }, innerOptions(options))}`;
  }
}

defineEventHandler(AbortSignal.prototype, "abort");
defineInterface(AbortSignal);

function abortError() {
  const { DOMException } = require("internal/dom_exception");
  return new DOMException("This operation was aborted", "AbortError");
}

function abortedSignal(reason) {
  const signal = new AbortSignal(token);
  const state = stateOf(signal);
  state.aborted = true;
  state.reason = reason;
  return signal;
}

let timers;

function startTimeout(signal, delay) {
  const ref = new WeakRef(signal);
  const { Timeout, clearTimeout, toDelay } = require("internal/timers");
  const onTimeout = () => {
    const { DOMException } = require("internal/dom_exception");
    const target = ref.deref();
    if (target === undefined) return;
    abort(target, new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  };
  timers ??= new FinalizationRegistry(clearTimeout);
  timers.register(signal, new Timeout(onTimeout, toDelay(delay), false));
}

function dependentOn(signals) {
  const first = signals.find((signal) => stateOf(signal).aborted);
  if (first !== undefined) return abortedSignal(stateOf(first).reason);
  const result = new AbortSignal(token);
  const sources = (stateOf(result).sources = new Set());
  for (const signal of signals) {
    // What follows others is replaced by those, so that no signal in between has to live.
    for (const source of stateOf(signal).sources ?? [signal]) {
      if (sources.has(source)) continue;
      sources.add(source);
      const state = stateOf(source);
      state.dependents ??= new WeakList();
      state.dependents.add(result);
    }
  }
  return result;
}

// Somebody begins or ceases to listen: decides who has to live as long as the event may come.
function onListening(signal, type, listening) {
  const { aborted, sources } = stateOf(signal);
  if (type !== "abort" || aborted) return;
  updateAwaited(signal);
  if (sources === undefined) return;
  for (const source of sources) {
    const state = stateOf(source);
    state.heard ??= new Set();
    if (listening) state.heard.add(signal);
    else state.heard.delete(signal);
    updateAwaited(source);
  }
}

function updateAwaited(signal) {
  const { isTimeout, aborted, heard } = stateOf(signal);
  if (!isTimeout) return;
  if (!aborted && (heard?.size > 0 || slotsOf(signal).lists?.has("abort"))) awaited.add(signal);
  else awaited.delete(signal);
}

function markAborted(signal, reason) {
  const state = stateOf(signal);
  state.aborted = true;
  state.reason = reason;
  updateAwaited(signal);
  if (state.sources === undefined) return;
  for (const source of state.sources) {
    stateOf(source).heard?.delete(signal);
    updateAwaited(source);
  }
  state.sources = undefined;
}

function abort(signal, reason) {
  const state = stateOf(signal);
  if (state.aborted) return;
  markAborted(signal, reason);
  if (state.dependents === undefined) {
    runAbortSteps(signal);
    return;
  }
  const dependents = state.dependents.live().filter((dependent) => !stateOf(dependent).aborted);
  state.dependents = undefined;
  // All are marked before the first event is fired.
  for (const dependent of dependents) markAborted(dependent, reason);
  runAbortSteps(signal);
  for (const dependent of dependents) runAbortSteps(dependent);
}

function runAbortSteps(signal) {
  const state = stateOf(signal);
  const { removals } = state;
  if (removals !== undefined) {
    state.removals = undefined;
    for (const entry of removals.live()) {
      const target = entry.target.deref();
      if (target !== undefined) remove(target, entry);
    }
  }
  fireTrusted(signal, "abort");
}

// The listener goes when the signal is aborted. The signal keeps neither it nor its target alive.
function removeOnAbort(signal, target, entry) {
  const state = stateOf(signal);
  entry.target = new WeakRef(target);
  state.removals ??= new WeakList();
  state.removals.add(entry);
}

class AbortController {
  #signal = new AbortSignal(token);

  get signal() {
    return this.#signal;
  }

  abort(reason = abortError()) {
    abort(this.#signal, reason);
  }

  [inspectCustom](depth, options, inspect) {
    if (depth < 0) return this;
    return `${this.constructor.name} ${inspect({ signal: this.signal }, innerOptions(options))}`;
  }
}

defineInterface(AbortController);

module.exports = {
  AbortController,
  AbortSignal,
  isAbortSignal,
  isAborted: (signal) => stateOf(signal).aborted,
  removeOnAbort,
};

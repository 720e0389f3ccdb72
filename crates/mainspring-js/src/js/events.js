"use strict";

const { codeError, invalidArgType, validateBoolean, validateFunction, validateNumber } =
  require("internal/errors");

const { apply } = Reflect;
const kCapture = Symbol("kCapture");
const kShapeMode = Symbol("shapeMode");
const kRejection = Symbol.for("nodejs.rejection");
const kErrorMonitor = Symbol("events.errorMonitor");

let defaultMaxListeners = 10;

function EventEmitter(options) {
  EventEmitter.init.call(this, options);
}

const prototype = EventEmitter.prototype;
prototype._events = undefined;
prototype._eventsCount = 0;
prototype._maxListeners = undefined;
Object.defineProperty(prototype, kCapture, { value: false, writable: true, enumerable: false });

EventEmitter.init = function (options) {
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
    this._events = { __proto__: null };
    this._eventsCount = 0;
  }
  this._maxListeners ||= undefined;
  this[kShapeMode] = false;
  if (options?.captureRejections) {
    validateBoolean(options.captureRejections, "options.captureRejections");
    this[kCapture] = true;
  } else {
    this[kCapture] = prototype[kCapture];
  }
};

function limitOf(emitter) {
  return emitter._maxListeners === undefined ? defaultMaxListeners : emitter._maxListeners;
}

function warnOfLeak(emitter, type, count) {
  const shown = require("internal/inspect").inspect(emitter, { depth: -1 });
  const warning = new Error(
    `Possible EventEmitter memory leak detected. ${count} ${String(type)} listeners added to ${shown}. ` +
    `MaxListeners is ${emitter.getMaxListeners()}. Use emitter.setMaxListeners() to increase limit`,
  );
  require("process").emitWarning(
    Object.assign(warning, { name: "MaxListenersExceededWarning", emitter, type, count }),
  );
}

function add(emitter, type, listener, prepend) {
  if (typeof listener !== "function") validateFunction(listener, "listener");
  let events = emitter._events;
  if (events === undefined) {
    events = emitter._events = { __proto__: null };
    emitter._eventsCount = 0;
  } else if (events.newListener !== undefined) {
    emitter.emit("newListener", type, listener.listener ?? listener);
    events = emitter._events;
  }
  const present = events[type];
  if (present === undefined) {
    events[type] = listener;
    emitter._eventsCount++;
    return emitter;
  }
  const list = typeof present === "function" ? [present] : present;
  if (prepend) list.unshift(listener);
  else list.push(listener);
  events[type] = list;
  const limit = limitOf(emitter);
  if (limit > 0 && list.length > limit && !list.warned) {
    list.warned = true;
    warnOfLeak(emitter, type, list.length);
  }
  return emitter;
}

function onceWrapper(...args) {
  if (this.fired) return undefined;
  this.target.removeListener(this.type, this.wrapper);
  this.fired = true;
  return apply(this.listener, this.target, args);
}

function wrapOnce(target, type, listener) {
  validateFunction(listener, "listener");
  const state = { fired: false, wrapper: undefined, target, type, listener };
  const wrapper = onceWrapper.bind(state);
  wrapper.listener = listener;
  state.wrapper = wrapper;
  return wrapper;
}

// With captureRejections, a promise that a listener returns ends in 'error' when it is rejected.
function watch(emitter, result, type, args) {
  if (!emitter[kCapture]) return;
  try {
    const { then } = result;
    if (typeof then !== "function") return;
    apply(then, result, [undefined, (error) => {
      require("internal/task_queues").nextTick(rejected, emitter, error, type, args);
    }]);
  } catch (error) {
    emitter.emit("error", error);
  }
}

function rejected(emitter, error, type, args) {
  if (typeof emitter[kRejection] === "function") {
    emitter[kRejection](error, type, ...args);
    return;
  }
  const previous = emitter[kCapture];
  // A listener of 'error' that is rejected itself shall not come back here.
  try {
    emitter[kCapture] = false;
    emitter.emit("error", error);
  } finally {
    emitter[kCapture] = previous;
  }
}

function unhandled(error) {
  if (error instanceof Error) return error;
  let shown;
  try {
    shown = require("internal/inspect").inspect(error);
  } catch {
    shown = error;
  }
  return codeError(Error, "ERR_UNHANDLED_ERROR", `Unhandled error. (${shown})`, { context: error });
}

function unwrap(list) {
  return list.map((listener) => listener.listener ?? listener);
}

function listenersOf(emitter, type, unwrapped) {
  const found = emitter._events?.[type];
  if (found === undefined) return [];
  const list = typeof found === "function" ? [found] : found.slice();
  return unwrapped ? unwrap(list) : list;
}

function removeType(emitter, type) {
  if (--emitter._eventsCount === 0) emitter._events = { __proto__: null };
  else delete emitter._events[type];
}

const methods = {
  setMaxListeners(n) {
    validateNumber(n, "setMaxListeners", 0);
    this._maxListeners = n;
    return this;
  },
  getMaxListeners() {
    return limitOf(this);
  },
  emit(type, ...args) {
    const events = this._events;
    if (type === "error") {
      if (events?.[kErrorMonitor] !== undefined) this.emit(kErrorMonitor, ...args);
      if (events?.error === undefined) throw unhandled(args[0]);
    }
    const handler = events?.[type];
    if (handler === undefined) return false;
    if (typeof handler === "function") {
      const result = apply(handler, this, args);
      if (result != null) watch(this, result, type, args);
    } else {
      const list = handler.slice();
      for (let index = 0; index < list.length; index++) {
        const result = apply(list[index], this, args);
        if (result != null) watch(this, result, type, args);
      }
    }
    return true;
  },
  addListener(type, listener) {
    return add(this, type, listener, false);
  },
  on: undefined,
  prependListener(type, listener) {
    return add(this, type, listener, true);
  },
  once(type, listener) {
    return this.on(type, wrapOnce(this, type, listener));
  },
  prependOnceListener(type, listener) {
    return this.prependListener(type, wrapOnce(this, type, listener));
  },
  removeListener(type, listener) {
    validateFunction(listener, "listener");
    const found = this._events?.[type];
    if (found === undefined) return this;
    let removed = listener;
    if (typeof found === "function") {
      if (found !== listener && found.listener !== listener) return this;
      removed = found.listener ?? listener;
      removeType(this, type);
    } else {
      let index = found.length - 1;
      while (index >= 0 && found[index] !== listener && found[index].listener !== listener) index--;
      if (index < 0) return this;
      found.splice(index, 1);
      if (found.length === 1) this._events[type] = found[0];
    }
    if (this._events.removeListener !== undefined) this.emit("removeListener", type, removed);
    return this;
  },
  off: undefined,
  removeAllListeners(type) {
    const events = this._events;
    if (events === undefined) return this;
    const all = arguments.length === 0;
    if (events.removeListener === undefined) {
      if (all) {
        this._events = { __proto__: null };
        this._eventsCount = 0;
      } else if (events[type] !== undefined) removeType(this, type);
      return this;
    }
    if (all) {
      for (const key of Reflect.ownKeys(events)) {
        if (key !== "removeListener") this.removeAllListeners(key);
      }
      this.removeAllListeners("removeListener");
      this._events = { __proto__: null };
      this._eventsCount = 0;
      return this;
    }
    const found = events[type] ?? [];
    if (typeof found === "function") this.removeListener(type, found);
    else for (let index = found.length - 1; index >= 0; index--) this.removeListener(type, found[index]);
    return this;
  },
  listeners(type) {
    return listenersOf(this, type, true);
  },
  rawListeners(type) {
    return listenersOf(this, type, false);
  },
  listenerCount(type, listener) {
    const found = this._events?.[type];
    if (listener != null) {
      return listenersOf(this, type, false)
        .filter((each) => each === listener || each.listener === listener).length;
    }
    if (found === undefined) return 0;
    return typeof found === "function" ? 1 : found.length;
  },
  eventNames() {
    return this._eventsCount > 0 ? Reflect.ownKeys(this._events) : [];
  },
};
methods.on = methods.addListener;
methods.off = methods.removeListener;
Object.assign(prototype, methods);

function isEventTarget(value) {
  return require("internal/event_target").isEventTarget(value);
}

async function once(emitter, name, options = undefined) {
  return require("internal/event_waits").once(emitter, name, options);
}

function on(emitter, name, options = undefined) {
  return require("internal/event_waits").on(emitter, name, options);
}

function addAbortListener(signal, listener) {
  return require("internal/event_waits").addAbortListener(signal, listener);
}

function getEventListeners(emitter, type) {
  if (typeof emitter?.listeners === "function") return emitter.listeners(type);
  if (!isEventTarget(emitter)) throw invalidArgType("emitter", ["EventEmitter", "EventTarget"], emitter);
  const { lists } = require("internal/event_target").slotsOf(emitter);
  return lists?.get(type)?.map((entry) => entry.listener) ?? [];
}

function getMaxListeners(emitter) {
  if (typeof emitter?.getMaxListeners === "function") return limitOf(emitter);
  if (!isEventTarget(emitter)) throw invalidArgType("emitter", ["EventEmitter", "EventTarget"], emitter);
  return require("internal/event_target").slotsOf(emitter).limit ?? defaultMaxListeners;
}

function setMaxListeners(n = defaultMaxListeners, ...eventTargets) {
  validateNumber(n, "setMaxListeners", 0);
  if (eventTargets.length === 0) defaultMaxListeners = n;
  for (const target of eventTargets) {
    if (isEventTarget(target)) {
      Object.assign(require("internal/event_target").slotsOf(target), { limit: n, warned: false });
    } else if (typeof target.setMaxListeners === "function") {
      target.setMaxListeners(n);
    } else {
      throw invalidArgType("eventTargets", ["EventEmitter", "EventTarget"], target);
    }
  }
}

function listenerCount(emitter, type) {
  if (typeof emitter.listenerCount === "function") return emitter.listenerCount(type);
  return apply(prototype.listenerCount, emitter, [type]);
}

Object.assign(EventEmitter, {
  EventEmitter,
  addAbortListener,
  captureRejectionSymbol: kRejection,
  errorMonitor: kErrorMonitor,
  getEventListeners,
  getMaxListeners,
  listenerCount,
  on,
  once,
  setMaxListeners,
  usingDomains: false,
});
Object.defineProperties(EventEmitter, {
  captureRejections: {
    get() {
      return prototype[kCapture];
    },
    set(value) {
      validateBoolean(value, "EventEmitter.captureRejections");
      prototype[kCapture] = value;
    },
    enumerable: true,
  },
  defaultMaxListeners: {
    get() {
      return defaultMaxListeners;
    },
    set(value) {
      validateNumber(value, "defaultMaxListeners", 0);
      defaultMaxListeners = value;
    },
    enumerable: true,
  },
});

module.exports = EventEmitter;

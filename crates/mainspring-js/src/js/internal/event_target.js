"use strict";

const { invalidArgType } = require("internal/errors");
const { defineInterface, dictionary, invalidThis, isObject, missingArgs, toText } =
  require("internal/webidl");

const { apply } = Reflect;
const inspectCustom = Symbol.for("nodejs.util.inspect.custom");
// An option of addEventListener: the listener is called even if another one stops the event.
const kResistStopPropagation = Symbol("kResistStopPropagation");

const NONE = 0;
const AT_TARGET = 2;

// What a listener throws neither reaches the dispatcher nor the other listeners.
function reportException(error) {
  require("internal/task_queues").nextTick(() => {
    throw error;
  });
}

function innerOptions(options) {
  return { ...options, depth: Number.isInteger(options.depth) ? options.depth - 1 : options.depth };
}

let isEvent;
let stateOf;
let trustedOf;

class Event {
  #state;

  static {
    isEvent = (value) => isObject(value) && #state in value;
    stateOf = (value) => {
      try {
        return value.#state;
      } catch {
        throw invalidThis("Event");
      }
    };
    trustedOf = Object.getOwnPropertyDescriptor(Event.prototype, "isTrusted");
    trustedOf.enumerable = true;
    trustedOf.configurable = false;
  }

  constructor(type, options = undefined) {
    if (arguments.length === 0) throw missingArgs("type");
    const text = toText(type);
    const init = dictionary(options, "options");
    this.#state = {
      type: text,
      bubbles: Boolean(init?.bubbles),
      cancelable: Boolean(init?.cancelable),
      composed: Boolean(init?.composed),
      timeStamp: host.now(),
      target: null,
      currentTarget: null, // not null as long as it is dispatched
      trusted: false,
      canceled: false,
      stopped: false,
      stoppedAtOnce: false,
      passive: false,
    };
    // Unforgeable attributes are own properties.
    Object.defineProperty(this, "isTrusted", trustedOf);
  }

  get type() {
    return stateOf(this).type;
  }

  get target() {
    return stateOf(this).target;
  }

  get srcElement() {
    return stateOf(this).target;
  }

  get currentTarget() {
    return stateOf(this).currentTarget;
  }

  composedPath() {
    const { currentTarget } = stateOf(this);
    return currentTarget === null ? [] : [currentTarget];
  }

  get eventPhase() {
    return stateOf(this).currentTarget === null ? NONE : AT_TARGET;
  }

  stopPropagation() {
    stateOf(this).stopped = true;
  }

  get cancelBubble() {
    return stateOf(this).stopped;
  }

  set cancelBubble(value) {
    const state = stateOf(this);
    if (value) state.stopped = true;
  }

  stopImmediatePropagation() {
    const state = stateOf(this);
    state.stopped = true;
    state.stoppedAtOnce = true;
  }

  get bubbles() {
    return stateOf(this).bubbles;
  }

  get cancelable() {
    return stateOf(this).cancelable;
  }

  get returnValue() {
    return !stateOf(this).canceled;
  }

  set returnValue(value) {
    const state = stateOf(this);
    if (!value) cancel(state);
  }

  preventDefault() {
    cancel(stateOf(this));
  }

  get defaultPrevented() {
    return stateOf(this).canceled;
  }

  get composed() {
    return stateOf(this).composed;
  }

  get timeStamp() {
    return stateOf(this).timeStamp;
  }

  // Also here, because scripts for Node look for it on the prototype.
  get isTrusted() {
    return stateOf(this).trusted;
  }

  initEvent(type, bubbles = false, cancelable = false) {
    const state = stateOf(this);
    if (arguments.length === 0) throw missingArgs("type");
    const text = toText(type);
    if (state.currentTarget !== null) return;
    Object.assign(state, {
      type: text,
      bubbles: Boolean(bubbles),
      cancelable: Boolean(cancelable),
      target: null,
      trusted: false,
      canceled: false,
      stopped: false,
      stoppedAtOnce: false,
    });
  }

  [inspectCustom](depth, options, inspect) {
    const { name } = this.constructor;
    if (depth < 0) return name;
    const { type, canceled: defaultPrevented, cancelable, timeStamp } = stateOf(this);
    return `${name} ${inspect({ type, defaultPrevented, cancelable, timeStamp }, innerOptions(options))}`;
  }
}

defineInterface(Event, { NONE, CAPTURING_PHASE: 1, AT_TARGET, BUBBLING_PHASE: 3 });
Object.defineProperty(Event.prototype, "isTrusted", { configurable: false });

function cancel(state) {
  if (state.cancelable && !state.passive) state.canceled = true;
}

class CustomEvent extends Event {
  #detail;

  constructor(type, options = undefined) {
    if (arguments.length === 0) throw missingArgs("type");
    super(type, options);
    this.#detail = options?.detail ?? null;
  }

  get detail() {
    if (!isObject(this) || !(#detail in this)) throw invalidThis("CustomEvent");
    return this.#detail;
  }

  initCustomEvent(type, bubbles = false, cancelable = false, detail = null) {
    if (!isObject(this) || !(#detail in this)) throw invalidThis("CustomEvent");
    if (arguments.length === 0) throw missingArgs("type");
    this.initEvent(type, bubbles, cancelable);
    if (stateOf(this).currentTarget === null) this.#detail = detail;
  }
}

defineInterface(CustomEvent);

function validateListener(listener) {
  if (listener != null && !isObject(listener)) throw invalidArgType("listener", "EventListener", listener);
}

// Options are a dictionary or a boolean, as which all primitive values count.
function captureOf(options) {
  return Boolean(isObject(options) ? options.capture : options);
}

let isEventTarget;
let slotsOf;

class EventTarget {
  #slots = {
    lists: undefined, // of the entries by type, replaced when they change: a dispatch goes on with its own
    captures: false, // whether there may be listeners that capture
    handlers: undefined,
    limit: undefined,
    warned: false,
    onListening: undefined,
  };

  static {
    isEventTarget = (value) => isObject(value) && #slots in value;
    slotsOf = (value) => {
      try {
        return value.#slots;
      } catch {
        throw invalidThis("EventTarget");
      }
    };
  }

  addEventListener(type, listener, options = undefined) {
    slotsOf(this);
    if (arguments.length < 2) throw missingArgs("type", "listener");
    const text = toText(type);
    validateListener(listener);
    const entry = newEntry(text, listener, captureOf(options));
    let signal;
    if (isObject(options)) {
      entry.once = Boolean(options.once);
      entry.passive = Boolean(options.passive);
      ({ signal } = options);
      entry.resists = options[kResistStopPropagation] === true;
    }
    const abort = signal === undefined ? undefined : require("internal/abort");
    if (abort !== undefined && !abort.isAbortSignal(signal)) {
      throw invalidArgType("options.signal", "AbortSignal", signal);
    }
    if (listener == null) {
      const message = `addEventListener called with ${listener} which has no effect.`;
      warn("AddEventListenerArgumentTypeWarning", message, { target: this, type: text });
      return;
    }
    if (abort?.isAborted(signal)) return;
    if (add(this, entry) && abort !== undefined) abort.removeOnAbort(signal, this, entry);
  }

  removeEventListener(type, listener, options = undefined) {
    const { lists } = slotsOf(this);
    if (arguments.length < 2) throw missingArgs("type", "listener");
    const text = toText(type);
    validateListener(listener);
    const capture = captureOf(options);
    const list = lists?.get(text);
    const entry = list && find(list, listener, capture);
    if (entry !== undefined) remove(this, entry);
  }

  dispatchEvent(event) {
    const slots = slotsOf(this);
    if (arguments.length === 0) throw missingArgs("event");
    if (!isEvent(event)) throw invalidArgType("event", "Event", event);
    const state = stateOf(event);
    if (state.currentTarget !== null) {
      const { DOMException } = require("internal/dom_exception");
      throw new DOMException(`The event "${state.type}" is already being dispatched`, "InvalidStateError");
    }
    state.trusted = false;
    dispatch(this, slots, event, state);
    return !state.canceled;
  }

  [inspectCustom](depth, options, inspect) {
    const { name } = this.constructor;
    return depth < 0 ? name : `${name} ${inspect({}, innerOptions(options))}`;
  }
}

defineInterface(EventTarget);

// An entry does not know its target: with reference counting, a cycle would keep both.
function newEntry(type, listener, capture) {
  return {
    type,
    listener,
    capture,
    isHandler: false,
    once: false,
    passive: false,
    resists: false,
    removed: false,
  };
}

function find(list, listener, capture) {
  for (let index = 0; index < list.length; index++) {
    const entry = list[index];
    if (entry.listener === listener && entry.capture === capture && !entry.isHandler) return entry;
  }
  return undefined;
}

function dispatch(target, slots, event, state) {
  const { captures, lists } = slots;
  const { type } = state;
  const list = lists?.get(type);
  state.target = target;
  if (list !== undefined) {
    state.currentTarget = target;
    if (captures) invoke(target, list, event, state, true);
    invoke(target, captures ? lists.get(type) ?? [] : list, event, state, false);
    state.currentTarget = null;
  }
  state.stopped = false;
  state.stoppedAtOnce = false;
}

function invoke(target, list, event, state, capture) {
  const { stopped } = state;
  for (let index = 0; index < list.length; index++) {
    const entry = list[index];
    if (entry.removed || entry.capture !== capture) continue;
    if ((stopped || state.stoppedAtOnce) && !entry.resists) continue;
    if (entry.once) remove(target, entry);
    state.passive = entry.passive;
    try {
      const result = call(entry, target, event);
      // A promise that a listener returns is reported too when it is rejected.
      const then = result?.then;
      if (typeof then === "function") apply(then, result, [undefined, reportException]);
    } catch (error) {
      reportException(error);
    }
    state.passive = false;
  }
}

function call({ listener, isHandler }, target, event) {
  if (typeof listener === "function") {
    const result = apply(listener, target, [event]);
    if (isHandler && result === false) event.preventDefault();
    return result;
  }
  return isHandler ? undefined : listener.handleEvent(event);
}

function add(target, entry) {
  const slots = slotsOf(target);
  const { type } = entry;
  slots.lists ??= new Map();
  if (entry.capture) slots.captures = true;
  const list = slots.lists.get(type);
  if (list === undefined) {
    slots.lists.set(type, [entry]);
    slots.onListening?.(target, type, true);
    return true;
  }
  if (!entry.isHandler && find(list, entry.listener, entry.capture) !== undefined) return false;
  slots.lists.set(type, list.concat(entry));
  const count = list.length + 1;
  const limit = slots.limit ?? require("events").defaultMaxListeners;
  if (limit > 0 && count > limit && !slots.warned) {
    slots.warned = true;
    const shown = require("internal/inspect").inspect(target, { depth: -1 });
    const message = "Possible EventTarget memory leak detected. " +
      `${count} ${type} listeners added to ${shown}. MaxListeners is ${limit}. ` +
      "Use events.setMaxListeners() to increase limit";
    warn("MaxListenersExceededWarning", message, { target, type, count });
  }
  return true;
}

function remove(target, entry) {
  if (entry.removed) return;
  entry.removed = true;
  const slots = slotsOf(target);
  const list = slots.lists.get(entry.type);
  if (list.length > 1) {
    slots.lists.set(entry.type, list.filter((other) => other !== entry));
  } else {
    slots.lists.delete(entry.type);
    slots.onListening?.(target, entry.type, false);
  }
}

function warn(name, message, properties) {
  require("process").emitWarning(Object.assign(new Error(message), { name }, properties));
}

// Dispatches an event that does not come from a script.
function fireTrusted(target, type) {
  const slots = slotsOf(target);
  if (!slots.lists?.has(type)) return;
  const event = new Event(type);
  const state = stateOf(event);
  state.trusted = true;
  dispatch(target, slots, event, state);
}

// Defines the attribute `on<name>`. What is set keeps its place among the listeners when it is replaced.
function defineEventHandler(object, name, type = name) {
  const key = `on${name}`;
  const accessor = {
    get [key]() {
      return slotsOf(this).handlers?.get(name)?.listener ?? null;
    },
    set [key](value) {
      const slots = slotsOf(this);
      slots.handlers ??= new Map();
      const known = slots.handlers.get(name);
      if (!isObject(value)) {
        if (known !== undefined) remove(this, known);
        slots.handlers.delete(name);
      } else if (known !== undefined) {
        known.listener = value;
      } else {
        const entry = newEntry(type, value, false);
        entry.isHandler = true;
        slots.handlers.set(name, entry);
        add(this, entry);
      }
    },
  };
  Object.defineProperty(object, key, Object.getOwnPropertyDescriptor(accessor, key));
}

module.exports = {
  CustomEvent,
  Event,
  EventTarget,
  defineEventHandler,
  fireTrusted,
  innerOptions,
  inspectCustom,
  isEventTarget,
  kResistStopPropagation,
  remove,
  reportException,
  slotsOf,
};

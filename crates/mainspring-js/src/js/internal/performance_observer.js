"use strict";

const { invalidArgType, invalidArgValue, validateFunction } = require("internal/errors");
const { defineInterface, dictionary, illegalConstructor, invalidThis, isObject, missingArgs, toText } =
  require("internal/webidl");
const { inspectCustom, reportException } = require("internal/event_target");
const { inspectAs, observers, select, timeline } = require("internal/performance");

const token = {};
const supportedEntryTypes = Object.freeze(Object.keys(timeline));

let entriesOf;

class PerformanceObserverEntryList {
  #entries;

  static {
    entriesOf = (value) => {
      if (!isObject(value) || !(#entries in value)) throw invalidThis("PerformanceObserverEntryList");
      return [value.#entries];
    };
  }

  constructor() {
    if (arguments[0] !== token) throw illegalConstructor();
    this.#entries = arguments[1];
  }

  getEntries() {
    return select(entriesOf(this));
  }

  getEntriesByType(type) {
    const lists = entriesOf(this);
    if (arguments.length === 0) throw missingArgs("type");
    return select(lists, undefined, toText(type));
  }

  getEntriesByName(name, type = undefined) {
    const lists = entriesOf(this);
    if (arguments.length === 0) throw missingArgs("name");
    return select(lists, toText(name), type === undefined ? undefined : toText(type));
  }

  [inspectCustom](depth, options, inspect) {
    return inspectAs(this, this.getEntries(), depth, options, inspect);
  }
}

defineInterface(PerformanceObserverEntryList);

let stateOf;

class PerformanceObserver {
  #state;

  static {
    stateOf = (value) => {
      if (!isObject(value) || !(#state in value)) throw invalidThis("PerformanceObserver");
      return value.#state;
    };
  }

  static get supportedEntryTypes() {
    return supportedEntryTypes;
  }

  constructor(callback) {
    validateFunction(callback, "callback");
    // `key` is the option by which it observes: it cannot change from one to the other.
    this.#state = { callback, key: undefined, types: new Set(), buffer: [], tellsDropped: false };
  }

  observe(options = undefined) {
    const state = stateOf(this);
    const { buffered, entryTypes, type } = dictionary(options, "options") ?? {};
    if (entryTypes === undefined) {
      if (type === undefined) throw missingArgs("options.entryTypes", "options.type");
    } else {
      if (!isObject(entryTypes) || typeof entryTypes[Symbol.iterator] !== "function") {
        throw invalidArgType("options.entryTypes", "string[]", entryTypes);
      }
      if (type !== undefined) {
        throw invalidArgValue("options.entryTypes", entryTypes, "can not be set together with options.type");
      }
    }
    setKey(state, entryTypes === undefined ? "type" : "entryTypes");
    const wanted = (entryTypes === undefined ? [type] : [...entryTypes]).map(toText);
    const types = wanted.filter((each) => supportedEntryTypes.includes(each));
    if (types.length === 0) return;
    state.types = new Set(entryTypes === undefined ? [...state.types, ...types] : types);
    state.tellsDropped = true;
    observers.add(this);
    if (buffered && entryTypes === undefined) {
      state.buffer = state.buffer.concat(timeline[types[0]]);
      schedule();
    }
  }

  disconnect() {
    const state = stateOf(this);
    observers.delete(this);
    state.key = undefined;
    state.types.clear();
    state.buffer = [];
  }

  takeRecords() {
    const state = stateOf(this);
    const { buffer } = state;
    state.buffer = [];
    return buffer;
  }

  [inspectCustom](depth, options, inspect) {
    const { types, buffer } = stateOf(this);
    const values = {
      connected: observers.has(this),
      pending: buffer.length > 0,
      entryTypes: [...types],
      buffer,
    };
    return inspectAs(this, values, depth, options, inspect);
  }
}

defineInterface(PerformanceObserver);

function setKey(state, key) {
  state.key ??= key;
  if (state.key === key) return;
  const { DOMException } = require("internal/dom_exception");
  const change = key === "type" ? "single observation" : "multiple observations";
  throw new DOMException(`PerformanceObserver can not change to ${change}`, "InvalidModificationError");
}

function notify(entry) {
  for (const observer of observers) {
    const { types, buffer } = stateOf(observer);
    if (!types.has(entry.entryType)) continue;
    buffer.push(entry);
    schedule();
  }
}

let isScheduled = false;

function schedule() {
  if (isScheduled) return;
  isScheduled = true;
  require("internal/timers").setImmediate(deliver);
}

function deliver() {
  isScheduled = false;
  for (const observer of [...observers]) {
    const state = stateOf(observer);
    const entries = observer.takeRecords();
    if (entries.length === 0) continue;
    const list = new PerformanceObserverEntryList(token, entries);
    // None is ever dropped: the timeline has no limit.
    const details = state.tellsDropped ? { droppedEntriesCount: 0 } : {};
    state.tellsDropped = false;
    try {
      Reflect.apply(state.callback, observer, [list, observer, details]);
    } catch (error) {
      reportException(error);
    }
  }
}

module.exports = { PerformanceObserver, PerformanceObserverEntryList, notify };

"use strict";

const { codeError, validateNumber } = require("internal/errors");
const { defineInterface, dictionary, illegalConstructor, invalidThis, isObject, missingArgs, toText } =
  require("internal/webidl");
const { EventTarget, innerOptions, inspectCustom } = require("internal/event_target");

const token = {};
const timeline = { mark: [], measure: [] };
// When the latest mark of each name was set.
const markTimes = new Map();
const observers = new Set();

function byStartTime(a, b) {
  return a.startTime - b.startTime;
}

// The entries of lists in the order of their time, filtered by what is given.
function select(lists, name, type) {
  return lists
    .flat()
    .filter((entry) => name === undefined || entry.name === name)
    .filter((entry) => type === undefined || entry.entryType === type)
    .sort(byStartTime);
}

function invalidTimestamp(time) {
  return codeError(TypeError, "ERR_PERFORMANCE_INVALID_TIMESTAMP", `${time} is not a valid timestamp`);
}

// As in Node: only what is below zero is refused.
function validateTime(time) {
  if (time < 0) throw invalidTimestamp(time);
  return time;
}

function cloneDetail(detail) {
  return detail == null ? null : require("internal/structured_clone").structuredClone(detail);
}

function inspectAs(instance, values, depth, options, inspect) {
  const { name } = instance.constructor;
  if (depth < 0) return options.stylize(`[${name}]`, "special");
  return `${name} ${inspect(values, innerOptions(options))}`;
}

let fieldsOf;

class PerformanceEntry {
  #fields;

  static {
    fieldsOf = (value) => {
      if (!isObject(value) || !(#fields in value)) throw invalidThis("PerformanceEntry");
      return value.#fields;
    };
  }

  constructor() {
    if (arguments[0] !== token) throw illegalConstructor();
    this.#fields = arguments[1];
  }

  get name() {
    return fieldsOf(this).name;
  }

  get entryType() {
    return fieldsOf(this).entryType;
  }

  get startTime() {
    return fieldsOf(this).startTime;
  }

  get duration() {
    return fieldsOf(this).duration;
  }

  toJSON() {
    return { ...fieldsOf(this) };
  }

  [inspectCustom](depth, options, inspect) {
    return inspectAs(this, fieldsOf(this), depth, options, inspect);
  }
}

class PerformanceMark extends PerformanceEntry {
  constructor(name, options = undefined) {
    if (arguments.length === 0) throw missingArgs("name");
    const text = toText(name);
    const { detail, startTime } = dictionary(options, "options") ?? {};
    if (startTime != null) validateNumber(startTime, "startTime");
    super(token, {
      name: text,
      entryType: "mark",
      startTime: validateTime(startTime ?? host.now()),
      duration: 0,
      detail: cloneDetail(detail),
    });
  }

  get detail() {
    return fieldsOf(this).detail;
  }
}

class PerformanceMeasure extends PerformanceEntry {
  constructor() {
    if (arguments[0] !== token) throw illegalConstructor();
    super(token, arguments[1]);
  }

  get detail() {
    return fieldsOf(this).detail;
  }
}

for (const Class of [PerformanceEntry, PerformanceMark, PerformanceMeasure]) defineInterface(Class);

function enqueue(entry) {
  timeline[entry.entryType].push(entry);
  if (observers.size > 0) require("internal/performance_observer").notify(entry);
  return entry;
}

function timeOf(mark) {
  if (typeof mark === "number") return validateTime(mark);
  const text = toText(mark);
  if (markTimes.has(text)) return markTimes.get(text);
  const { DOMException } = require("internal/dom_exception");
  throw new DOMException(`The "${text}" performance mark has not been set`, "SyntaxError");
}

function measureTimes(startOrOptions, endMark) {
  const isDictionary = isObject(startOrOptions);
  // What is neither a dictionary nor the name of a mark says nothing, not even a number.
  const name = typeof startOrOptions === "string" ? startOrOptions : undefined;
  const { detail, duration, end, start } = isDictionary ? startOrOptions : { start: name };
  const fail = (message) => codeError(TypeError, "ERR_PERFORMANCE_MEASURE_INVALID_OPTIONS", message);
  if (isDictionary && (start !== undefined || end !== undefined)) {
    if (endMark !== undefined) throw fail("endMark must not be specified");
    if (start !== undefined && end !== undefined && duration !== undefined) {
      throw fail("Must not have options.start, options.end, and options.duration specified");
    }
  }
  let endTime;
  if (endMark !== undefined) endTime = timeOf(endMark);
  else if (end !== undefined) endTime = timeOf(end);
  else if (start !== undefined && duration !== undefined) endTime = timeOf(start) + timeOf(duration);
  else endTime = host.now();
  let startTime = 0;
  if (start !== undefined) startTime = timeOf(start);
  else if (end !== undefined && duration !== undefined) startTime = endTime - timeOf(duration);
  return { startTime, duration: endTime - startTime, detail };
}

function clear(type, name) {
  const text = name === undefined ? undefined : toText(name);
  timeline[type] = text === undefined ? [] : timeline[type].filter((entry) => entry.name !== text);
  if (type === "mark") {
    if (text === undefined) markTimes.clear();
    else markTimes.delete(text);
  }
}

let check;

class Performance extends EventTarget {
  #isPerformance = true;

  static {
    check = (value) => {
      if (!isObject(value) || !(#isPerformance in value)) throw invalidThis("Performance");
    };
  }

  constructor() {
    if (arguments[0] !== token) throw illegalConstructor();
    super();
  }

  now() {
    check(this);
    return host.now();
  }

  get timeOrigin() {
    check(this);
    return host.timeOrigin();
  }

  mark(name, options = undefined) {
    check(this);
    if (arguments.length === 0) throw missingArgs("name");
    const mark = new PerformanceMark(name, options);
    markTimes.set(mark.name, mark.startTime);
    return enqueue(mark);
  }

  measure(name, startOrOptions = undefined, endMark = undefined) {
    check(this);
    if (arguments.length === 0) throw missingArgs("name");
    const text = toText(name);
    const { startTime, duration, detail } = measureTimes(startOrOptions, endMark);
    const fields = { name: text, entryType: "measure", startTime, duration, detail: cloneDetail(detail) };
    return enqueue(new PerformanceMeasure(token, fields));
  }

  clearMarks(name = undefined) {
    check(this);
    clear("mark", name);
  }

  clearMeasures(name = undefined) {
    check(this);
    clear("measure", name);
  }

  getEntries() {
    check(this);
    return select(Object.values(timeline));
  }

  getEntriesByType(type) {
    check(this);
    if (arguments.length === 0) throw missingArgs("type");
    return select(Object.values(timeline), undefined, toText(type));
  }

  getEntriesByName(name, type = undefined) {
    check(this);
    if (arguments.length === 0) throw missingArgs("name");
    return select(Object.values(timeline), toText(name), type === undefined ? undefined : toText(type));
  }

  toJSON() {
    check(this);
    return { timeOrigin: host.timeOrigin() };
  }

  [inspectCustom](depth, options, inspect) {
    return inspectAs(this, { timeOrigin: this.timeOrigin }, depth, options, inspect);
  }
}

defineInterface(Performance);

module.exports = {
  Performance,
  PerformanceEntry,
  PerformanceMark,
  PerformanceMeasure,
  get PerformanceObserver() {
    return require("internal/performance_observer").PerformanceObserver;
  },
  get PerformanceObserverEntryList() {
    return require("internal/performance_observer").PerformanceObserverEntryList;
  },
  inspectAs,
  observers,
  performance: new Performance(token),
  select,
  timeline,
};

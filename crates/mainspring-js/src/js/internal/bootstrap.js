"use strict";

// Defines the globals that the embedder chose. What is rarely used is loaded when it is first touched.

const { globals, virtualTime } = host.options();

function define(name, value) {
  Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
}

// Node shows functions like setTimeout when the global object is enumerated.
function show(name, value) {
  Object.defineProperty(globalThis, name, { value, writable: true, enumerable: true, configurable: true });
}

function lazy(names, load) {
  for (const name of names) {
    Object.defineProperty(globalThis, name, {
      get() {
        const value = load()[name];
        define(name, value);
        return value;
      },
      set(value) {
        define(name, value);
      },
      enumerable: false,
      configurable: true,
    });
  }
}

// Node has these two as accessors, also after they were set.
function accessor(name, load) {
  let value;
  let isKnown = false;
  Object.defineProperty(globalThis, name, {
    get() {
      if (!isKnown) {
        value = load();
        isKnown = true;
      }
      return value;
    },
    set(other) {
      value = other;
      isKnown = true;
    },
    enumerable: false,
    configurable: true,
  });
}

define("global", globalThis);
Object.defineProperty(globalThis, Symbol.toStringTag, {
  value: "global",
  writable: false,
  enumerable: false,
  configurable: true,
});

// For engines that have none.
for (const name of ["dispose", "asyncDispose"]) {
  if (!Symbol[name]) Object.defineProperty(Symbol, name, { value: Symbol(`Symbol.${name}`) });
}

require("internal/error_stacks");

const tasks = require("internal/task_queues");
const timers = require("internal/timers");

if (globals.timers) {
  for (const name of ["clearImmediate", "setImmediate", "clearInterval", "clearTimeout", "setInterval", "setTimeout"]) {
    show(name, timers[name]);
  }
  show("queueMicrotask", tasks.queueMicrotask);
}
if (globals.console) lazy(["console"], () => ({ console: require("console") }));
if (globals.process) accessor("process", () => require("process"));
if (globals.events) {
  lazy(["Event", "CustomEvent", "EventTarget"], () => require("internal/event_target"));
  lazy(["DOMException"], () => require("internal/dom_exception"));
}
if (globals.abort) lazy(["AbortController", "AbortSignal"], () => require("internal/abort"));
if (globals.performance) {
  lazy(
    [
      "performance", "Performance", "PerformanceEntry", "PerformanceMark", "PerformanceMeasure",
      "PerformanceObserver", "PerformanceObserverEntryList",
    ],
    () => require("internal/performance"),
  );
}
if (globals.structuredClone) lazy(["structuredClone"], () => require("internal/structured_clone"));
if (globals.encoding) {
  lazy(["TextEncoder", "TextDecoder"], () => require("internal/encoding"));
  lazy(["atob", "btoa"], () => require("internal/base64"));
  lazy(["Blob", "File"], () => require("internal/blob"));
  accessor("Buffer", () => require("buffer").Buffer);
}
if (globals.url) lazy(["URL", "URLSearchParams"], () => require("internal/url"));
if (globals.crypto) lazy(["crypto", "Crypto"], () => require("internal/crypto"));
if (globals.mainspring) lazy(["mainspring"], () => ({ mainspring: require("internal/mainspring") }));

if (virtualTime) require("internal/virtual_date");

host.setEntries({
  timer: timers.runTimer,
  immediate: timers.runImmediate,
  ticks: tasks.runTicks,
  task: (run) => run(),
  rejections: tasks.runRejections,
  uncaught(error, origin) {
    return require("internal/uncaught").onUncaught(error, origin);
  },
  beforeExit() {
    require("internal/process").emitBeforeExit();
  },
  exit() {
    return require("internal/process").emitExit();
  },
});

"use strict";

// Defines the globals that the embedder chose. What is rarely used is loaded when it is first touched.

const { globals, virtualTime } = host.options();

// Functions and attributes are seen when the global object is enumerated, classes are not.
function define(name, value, enumerable) {
  Object.defineProperty(globalThis, name, { value, writable: true, enumerable, configurable: true });
}

function lazy(names, load, enumerable = false) {
  for (const name of names) {
    Object.defineProperty(globalThis, name, {
      get() {
        const value = load()[name];
        define(name, value, enumerable);
        return value;
      },
      set(value) {
        define(name, value, enumerable);
      },
      enumerable,
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

define("global", globalThis, true);
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
    define(name, timers[name], true);
  }
  define("queueMicrotask", tasks.queueMicrotask, true);
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
      "Performance", "PerformanceEntry", "PerformanceMark", "PerformanceMeasure", "PerformanceObserver",
      "PerformanceObserverEntryList",
    ],
    () => require("internal/performance"),
  );
  lazy(["performance"], () => require("internal/performance"), true);
}
if (globals.structuredClone) lazy(["structuredClone"], () => require("internal/structured_clone"), true);
if (globals.encoding) {
  lazy(["TextEncoder", "TextDecoder"], () => require("internal/encoding"));
  lazy(["atob", "btoa"], () => require("internal/base64"), true);
  lazy(["Blob", "File"], () => require("internal/blob"));
  accessor("Buffer", () => require("buffer").Buffer);
}
if (globals.url) lazy(["URL", "URLSearchParams"], () => require("internal/url"));
if (globals.crypto) {
  lazy(["crypto"], () => require("internal/crypto"), true);
  lazy(["Crypto"], () => require("internal/crypto"));
}
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
    host.setExitCode(require("internal/process").emitExit());
  },
});

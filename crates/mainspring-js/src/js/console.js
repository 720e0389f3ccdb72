"use strict";

const { status } = require("internal/process");

// Where a console writes to, and what it remembers.
const output = Symbol("output");

const noop = () => {};

const standard = {
  indent: "",
  indentWidth: 2,
  colors: [],
  replaced: [],

  stream(isError) {
    return this.replaced[Number(isError)] ?? require("internal/stdio")[isError ? "stderr" : "stdout"];
  },

  // Straight to the descriptor, unless the script put something of its own before it.
  write(isError, text) {
    if (status.object !== undefined || this.replaced.length > 0) {
      const stream = this.stream(isError);
      if (!("fd" in stream) || Object.hasOwn(stream, "write")) {
        stream.write(text, noop);
        return;
      }
    }
    try {
      host.write(isError ? 2 : 1, text);
    } catch {
      // A reader that is gone is no error of whoever logs.
    }
  },

  hasColors(isError) {
    const fd = isError ? 2 : 1;
    return (this.colors[fd] ??= require("internal/colors").wantsColors(host.isTTY(fd)));
  },

  inspectOptions(isError) {
    return this.hasColors(isError) ? { colors: true } : undefined;
  },
};

// Arguments that need neither directives nor inspection are put together here, so that a script that logs
// only such does not load more.
function plainText(args, to, isError) {
  let text = "";
  for (let index = 0; index < args.length; index++) {
    const value = args[index];
    if (index > 0) text += " ";
    if (typeof value === "string") {
      if (index === 0 && args.length > 1 && value.includes("%")) return undefined;
      text += value;
    } else if (value == null || typeof value === "number" || typeof value === "boolean") {
      if (to.hasColors(isError)) return undefined;
      text += Object.is(value, -0) ? "-0" : value;
    } else {
      return undefined;
    }
  }
  return text;
}

function print(to, isError, args) {
  let text =
    plainText(args, to, isError) ?? require("internal/format").formatWith(to.inspectOptions(isError), args);
  if (to.indent !== "") text = to.indent + text.replaceAll("\n", `\n${to.indent}`);
  to.write(isError, `${text}\n`);
}

function Console() {
  if (new.target === undefined) return Reflect.construct(Console, arguments);
  const to = require("internal/console_streams").open(...arguments);
  Object.defineProperties(this, {
    _stdout: { value: to.stream(false), writable: true, configurable: true },
    _stderr: { value: to.stream(true), writable: true, configurable: true },
  });
  own(this, to);
}

const { prototype } = Console;
prototype.log = function log(...args) {
  print(this[output], false, args);
};
prototype.warn = function warn(...args) {
  print(this[output], true, args);
};
const later = (name) => {
  prototype[name] = {
    [name](...args) {
      return require("internal/console_methods")[name].call(this, this[output], ...args);
    },
  }[name];
};
"dir time timeEnd timeLog trace assert clear count countReset group groupEnd table".split(" ").forEach(later);
prototype.debug = prototype.log;
prototype.info = prototype.log;
prototype.dirxml = prototype.log;
prototype.error = prototype.warn;
prototype.groupCollapsed = prototype.group;

// Methods are properties of the console itself, and work without it.
function own(console, to) {
  for (const name of Object.keys(prototype)) {
    const method = console[name] ?? prototype[name];
    const bound = method.bind(console);
    Object.defineProperty(bound, "name", { value: name, configurable: true });
    console[name] = bound;
  }
  Object.defineProperties(console, {
    [output]: { value: to },
    [Symbol.toStringTag]: { value: "console", writable: true, configurable: true },
  });
}

Object.defineProperty(Console, Symbol.hasInstance, {
  value(object) {
    return object?.[output] !== undefined;
  },
});

const console = Object.create({});
own(console, standard);
console.Console = Console;
// For the tools of a debugger, which is never attached.
for (const name of ["profile", "profileEnd", "timeStamp"]) console[name] = { [name]() {} }[name];
for (const [name, isError] of [["_stdout", false], ["_stderr", true]]) {
  Object.defineProperty(console, name, {
    get: () => standard.stream(isError),
    set(stream) {
      standard.replaced[Number(isError)] = stream;
    },
    configurable: true,
  });
}

module.exports = console;

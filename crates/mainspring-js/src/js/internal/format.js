"use strict";

const { defaults, formatBigInt, formatNumber } = require("internal/inspect_text");

function inspect(value, options) {
  return require("internal/inspect").inspect(value, options);
}

function holder(value, key) {
  while (value !== null && !Object.hasOwn(value, key)) value = Object.getPrototypeOf(value);
  return value;
}

// Whether the object says itself, other than the language's own objects do, how it is written.
function hasOwnText(value) {
  for (let found = host.details(value); found?.[0] === "Proxy"; found = host.details(value)) {
    if (found[1] == null) return false;
    value = found[1];
  }
  const { builtinNames } = require("internal/inspect");
  for (const key of [Symbol.toPrimitive, "toString"]) {
    if (typeof value[key] !== "function") continue;
    const owner = holder(value, key);
    if (owner === value) return true;
    const constructor = Object.getOwnPropertyDescriptor(owner, "constructor")?.value;
    if (typeof constructor !== "function" || !builtinNames.has(constructor.name)) return true;
  }
  return false;
}

function toJson(value) {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (isCircular(value, [])) return "[Circular]";
    throw error;
  }
}

// Engines word the error differently, so the value itself is asked.
function isCircular(value, parents) {
  if (value === null || typeof value !== "object") return false;
  if (parents.includes(value)) return true;
  return Object.values(value).some((item) => isCircular(item, [...parents, value]));
}

function formatNumeric(value, options) {
  const isSeparated = options?.numericSeparator ?? defaults.numericSeparator;
  return (typeof value === "bigint" ? formatBigInt : formatNumber)(value, isSeparated);
}

function toNumber(value, options, convert) {
  if (typeof value === "symbol") return "NaN";
  return formatNumeric(typeof value === "bigint" ? value : convert(value), options);
}

const directives = {
  s(value, options) {
    if (typeof value === "number" || typeof value === "bigint") return formatNumeric(value, options);
    if (value === null || typeof value !== "object" || hasOwnText(value)) return String(value);
    return inspect(value, { ...options, depth: 0, colors: false, compact: 3 });
  },
  d: (value, options) => toNumber(value, options, Number),
  i: (value, options) => toNumber(value, options, Number.parseInt),
  f: (value, options) => (typeof value === "symbol" ? "NaN" : formatNumeric(parseFloat(value), options)),
  j: (value) => toJson(value),
  o: (value, options) => inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 }),
  O: (value, options) => inspect(value, options),
  c: () => "",
};

function formatWith(options, args) {
  let next = 0;
  let text = "";
  if (typeof args[0] === "string") {
    next = 1;
    text = args[0];
    if (args.length > 1) {
      text = text.replace(/%([sdifjoOc%])/g, (directive, kind) => {
        if (kind === "%") return "%";
        return next < args.length ? directives[kind](args[next++], options) : directive;
      });
    }
  }
  for (; next < args.length; next++) {
    const value = args[next];
    if (next > 0) text += " ";
    text += typeof value === "string" ? value : inspect(value, options);
  }
  return text;
}

function format(...args) {
  return formatWith(undefined, args);
}

function formatWithOptions(inspectOptions, ...args) {
  require("internal/errors").validateObject(inspectOptions, "inspectOptions");
  return formatWith(inspectOptions, args);
}

module.exports = { format, formatWith, formatWithOptions };

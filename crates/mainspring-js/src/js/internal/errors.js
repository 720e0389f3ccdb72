"use strict";

// The first frames of a stack that are this file's.
const ownFrames = /^(?:\n[^\n]*mainspring:internal\/errors[^\n]*)+/;

// An error with a code: `stack` and `toString()` show it behind the name, as Node's do.
function codeError(Base, code, message, properties) {
  const error = new Base(message);
  Object.defineProperty(error, "code", { value: code, writable: true, enumerable: true, configurable: true });
  Object.defineProperty(error, "toString", {
    value() {
      return `${this.name} [${code}]: ${this.message}`;
    },
    writable: true,
    enumerable: false,
    configurable: true,
  });
  const { stack } = error;
  if (typeof stack === "string") {
    const head = `${error.name}: ${message}`;
    const rest = (stack.startsWith(head) ? stack.slice(head.length) : "").replace(ownFrames, "");
    Object.defineProperty(error, "stack", {
      value: `${error.name} [${code}]: ${message}${rest}`,
      writable: true,
      enumerable: false,
      configurable: true,
    });
  }
  if (properties) Object.assign(error, properties);
  return error;
}

// The end of a message: what was found instead.
function received(value) {
  if (value == null) return ` Received ${value}`;
  if (typeof value === "function") return ` Received function ${value.name}`;
  if (typeof value === "object") {
    if (value.constructor?.name) return ` Received an instance of ${value.constructor.name}`;
    return ` Received ${require("internal/inspect").inspect(value, { depth: -1 })}`;
  }
  let shown = require("internal/inspect").inspect(value, { colors: false });
  if (shown.length > 28) shown = `${shown.slice(0, 25)}...`;
  return ` Received type ${typeof value} (${shown})`;
}

const primitives = new Set([
  "string", "function", "number", "object", "boolean", "bigint", "symbol", "Function", "Object",
]);

function list(words, last = "or") {
  if (words.length < 3) return words.join(` ${last} `);
  return `${words.slice(0, -1).join(", ")}, ${last} ${words.at(-1)}`;
}

function invalidArgType(name, expected, actual) {
  const wanted = Array.isArray(expected) ? expected : [expected];
  const types = [];
  const classes = [];
  const others = [];
  for (const word of wanted) {
    if (primitives.has(word)) types.push(word.toLowerCase());
    else if (/^[A-Z][A-Za-z0-9]*$/.test(word)) classes.push(word);
    else others.push(word);
  }
  // Beside classes, a plain object is one of them.
  if (classes.length > 0 && types.includes("object")) {
    types.splice(types.indexOf("object"), 1);
    classes.push("Object");
  }
  const parts = [];
  if (types.length > 0) parts.push(`${types.length > 1 ? "one of type" : "of type"} ${list(types)}`);
  if (classes.length > 0) parts.push(`an instance of ${list(classes)}`);
  if (others.length > 1) parts.push(`one of ${list(others)}`);
  else if (others.length > 0) parts.push(/[A-Z]/.test(others[0]) ? `an ${others[0]}` : others[0]);
  const kind = name.endsWith(" argument") ? `The ${name}` : `The "${name}" ${name.includes(".") ? "property" : "argument"}`;
  return codeError(
    TypeError,
    "ERR_INVALID_ARG_TYPE",
    `${kind} must be ${parts.join(" or ")}.${received(actual)}`,
  );
}

function invalidArgValue(name, value, reason = "is invalid") {
  let shown = require("internal/inspect").inspect(value);
  if (shown.length > 128) shown = `${shown.slice(0, 128)}...`;
  const kind = name.includes(".") ? "property" : "argument";
  return codeError(TypeError, "ERR_INVALID_ARG_VALUE", `The ${kind} '${name}' ${reason}. Received ${shown}`);
}

function grouped(number) {
  const text = String(number);
  const sign = text.startsWith("-") ? "-" : "";
  return sign + text.slice(sign.length).replace(/\B(?=(\d{3})+(?!\d))/g, "_");
}

function outOfRange(name, range, actual) {
  let shown;
  if (Number.isInteger(actual) && Math.abs(actual) > 2 ** 32) shown = grouped(actual);
  else if (typeof actual === "bigint") {
    shown = actual > 2n ** 32n || actual < -(2n ** 32n) ? grouped(actual) : String(actual);
    shown += "n";
  } else shown = require("internal/inspect").inspect(actual);
  return codeError(
    RangeError,
    "ERR_OUT_OF_RANGE",
    `The value of "${name}" is out of range. It must be ${range}. Received ${shown}`,
  );
}

function validateType(type) {
  return (value, name) => {
    if (typeof value !== type) throw invalidArgType(name, type, value);
  };
}

const validateFunction = validateType("function");
const validateString = validateType("string");
const validateBoolean = validateType("boolean");

function validateNumber(value, name, min = undefined, max = undefined) {
  if (typeof value !== "number") throw invalidArgType(name, "number", value);
  if ((min !== undefined && !(value >= min)) || (max !== undefined && !(value <= max))) {
    const bounds = [];
    if (min !== undefined) bounds.push(`>= ${min}`);
    if (max !== undefined) bounds.push(`<= ${max}`);
    throw outOfRange(name, bounds.join(" && "), value);
  }
}

function validateInteger(value, name, min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) {
  if (typeof value !== "number") throw invalidArgType(name, "number", value);
  if (!Number.isInteger(value)) throw outOfRange(name, "an integer", value);
  if (value < min || value > max) throw outOfRange(name, `>= ${min} && <= ${max}`, value);
}

function validateObject(value, name) {
  if (value === null || Array.isArray(value) || typeof value !== "object") {
    throw invalidArgType(name, "Object", value);
  }
}

function validateAbortSignal(value, name) {
  if (value !== undefined && (value === null || typeof value !== "object" || !("aborted" in value))) {
    throw invalidArgType(name, "AbortSignal", value);
  }
}

class AbortError extends Error {
  constructor(message = "The operation was aborted", options = undefined) {
    if (options !== undefined) validateObject(options, "options");
    super(message, options);
    this.code = "ABORT_ERR";
    this.name = "AbortError";
  }
}

module.exports = {
  AbortError,
  codeError,
  invalidArgType,
  invalidArgValue,
  outOfRange,
  validateAbortSignal,
  validateBoolean,
  validateFunction,
  validateInteger,
  validateNumber,
  validateObject,
  validateString,
};

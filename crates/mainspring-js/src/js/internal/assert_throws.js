"use strict";

const { AssertionError } = require("internal/assertion_error");
const { codeError, invalidArgType, invalidArgValue, validateFunction } = require("internal/errors");
const { inspect, isError } = require("internal/inspect");

// What a function that threw nothing is said to have thrown.
const nothing = Symbol("nothing");

const isObject = (value) => value !== null && typeof value === "object";
const isRegExp = (value) => host.details(value)?.[0] === "RegExp";
const matches = (text, regexp) => typeof text === "string" && isRegExp(regexp) && regexp.test(text);
const isErrorClass = (value) => Object.prototype.isPrototypeOf.call(Error, value);

function thrownBy(fn) {
  validateFunction(fn, "fn");
  try {
    fn();
  } catch (error) {
    return error;
  }
  return nothing;
}

function isPromise(value) {
  if (host.details(value)?.[0] === "Promise") return true;
  return isObject(value) && typeof value.then === "function" && typeof value.catch === "function";
}

function describeReceived(value) {
  if (value == null) return String(value);
  if (isObject(value) && value.constructor?.name) return `an instance of ${value.constructor.name}`;
  return `type ${typeof value} (${inspect(value)})`;
}

async function rejectionOf(promiseFn) {
  let promise = promiseFn;
  if (typeof promiseFn === "function") {
    promise = promiseFn();
    if (!isPromise(promise)) {
      const message = 'Expected instance of Promise to be returned from the "promiseFn" function but got ';
      throw codeError(TypeError, "ERR_INVALID_RETURN_VALUE", `${message}${describeReceived(promise)}.`);
    }
  } else if (!isPromise(promiseFn)) throw invalidArgType("promiseFn", ["Function", "Promise"], promiseFn);
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return nothing;
}

function fails(fn, options, generated = false) {
  if (options.message instanceof Error) throw options.message;
  const error = new AssertionError({ operator: fn.name, stackStartFn: fn, ...options });
  error.generatedMessage = generated;
  throw error;
}

function kindOf(fn) {
  return fn.name === "rejects" || fn.name === "doesNotReject" ? "rejection" : "exception";
}

function ambiguous(what) {
  const message = `The "error/message" argument is ambiguous. The ${what} is identical to the message.`;
  throw codeError(TypeError, "ERR_AMBIGUOUS_ARGUMENT", message);
}

/** Checks what `fn`, `throws` or `rejects`, found against its further arguments. */
function checkError(fn, actual, args) {
  let [expected, message] = args;
  if (typeof expected === "string") {
    if (args.length > 1) throw invalidArgType("error", ["Object", "Error", "Function", "RegExp"], expected);
    if (isObject(actual)) {
      if (actual.message === expected) ambiguous(`error message "${expected}"`);
    } else if (actual === expected) ambiguous(`error "${expected}"`);
    [expected, message] = [undefined, expected];
  } else if (expected != null && typeof expected !== "object" && typeof expected !== "function") {
    throw invalidArgType("error", ["Object", "Error", "Function", "RegExp"], expected);
  }
  if (actual === nothing) {
    const name = expected?.name ? ` (${expected.name})` : "";
    const text = `Missing expected ${kindOf(fn)}${name}${message ? `: ${message}` : "."}`;
    fails(fn, { actual: undefined, expected, message: text });
  }
  if (!expected) return;
  if (typeof expected === "function") checkByFunction(fn, actual, expected, message);
  else if (isRegExp(expected)) checkByRegExp(fn, actual, expected, message);
  else checkByProperties(fn, actual, expected, message);
}

function failsWith(fn, actual, expected, message, generate) {
  fails(fn, { actual, expected, message: message ? String(message) : generate() }, !message);
}

function checkByFunction(fn, actual, expected, message) {
  if (expected.prototype !== undefined && actual instanceof expected) return;
  if (isErrorClass(expected)) {
    failsWith(fn, actual, expected, message, () => {
      const text = `The error is expected to be an instance of "${expected.name}". Received `;
      if (!isError(actual)) return `${text}"${inspect(actual, { depth: -1 })}"`;
      const name = actual.constructor?.name || actual.name;
      const isSameName = name === expected.name;
      const found = isSameName ? "an error with identical name but a different prototype." : `"${name}"`;
      return `${text}${found}\n\nError message:\n\n${actual.message}`;
    });
  }
  const result = Reflect.apply(expected, {}, [actual]);
  if (result === true) return;
  failsWith(fn, actual, expected, message, () => {
    const name = expected.name ? `"${expected.name}" ` : "";
    const text = `The ${name}validation function is expected to return "true". Received ${inspect(result)}`;
    return isError(actual) ? `${text}\n\nCaught error:\n\n${actual}` : text;
  });
}

function checkByRegExp(fn, actual, expected, message) {
  const text = String(actual);
  if (expected.test(text)) return;
  failsWith(fn, actual, expected, message, () => {
    const shown = inspect(expected);
    return `The input did not match the regular expression ${shown}. Input:\n\n${inspect(text)}\n`;
  });
}

// What a message shows of an error: the properties that were compared. Those that matched look alike.
class Comparison {
  constructor(object, keys, actual) {
    for (const key of keys) {
      if (key in object) this[key] = matches(actual?.[key], object[key]) ? actual[key] : object[key];
    }
  }
}

function failsDeeply(fn, actual, expected, shown) {
  const error = new AssertionError({ ...shown, operator: "deepStrictEqual", stackStartFn: fn });
  throw Object.assign(error, { actual, expected, operator: fn.name });
}

function checkByProperties(fn, actual, expected, message) {
  if (!isObject(actual)) failsDeeply(fn, actual, expected, { actual, expected, message });
  const keys = Object.keys(expected);
  if (expected instanceof Error) keys.push("name", "message");
  else if (keys.length === 0) throw invalidArgValue("error", expected, "may not be an empty object");
  const { isDeepStrictEqual } = require("internal/deep_equal");
  for (const key of keys) {
    if (matches(actual[key], expected[key])) continue;
    if (key in actual && isDeepStrictEqual(actual[key], expected[key])) continue;
    if (message) fails(fn, { actual, expected, message });
    const shown = { actual: new Comparison(actual, keys), expected: new Comparison(expected, keys, actual) };
    failsDeeply(fn, actual, expected, shown);
  }
}

function isUnwanted(actual, expected) {
  if (typeof expected === "function") {
    if (expected.prototype !== undefined && actual instanceof expected) return true;
    return !isErrorClass(expected) && Reflect.apply(expected, {}, [actual]) === true;
  }
  if (!isRegExp(expected)) throw invalidArgType("expected", ["Function", "RegExp"], expected);
  return expected.test(String(actual));
}

/** Checks that `doesNotThrow` or `doesNotReject` found nothing, or nothing of what its arguments name. */
function checkNoError(fn, actual, args) {
  if (actual === nothing) return;
  let [expected, message] = args;
  if (typeof expected === "string") [expected, message] = [undefined, expected];
  if (expected && !isUnwanted(actual, expected)) throw actual;
  const text = `Got unwanted ${kindOf(fn)}${message ? `: ${message}` : "."}`;
  fails(fn, { actual, expected, message: `${text}\nActual message: "${actual?.message}"` });
}

module.exports = { checkError, checkNoError, rejectionOf, thrownBy };

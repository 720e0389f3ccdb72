"use strict";

const deep = () => require("internal/deep_equal");
const show = (value) => require("internal/inspect").inspect(value);
const isRegExp = (value) => host.details(value)?.[0] === "RegExp";
const errors = () => require("internal/errors");

function fails(options) {
  if (options.message instanceof Error) throw options.message;
  throw new assert.AssertionError(options);
}

function check(isRight, args, options) {
  if (args.length < 2) {
    const message = 'The "actual" and "expected" arguments must be specified';
    throw errors().codeError(TypeError, "ERR_MISSING_ARGS", message);
  }
  const [actual, expected, message] = args;
  if (!isRight(actual, expected)) fails({ actual, expected, message, ...options });
}

function checkTruth(fn, args) {
  const [value, message] = args;
  if (value) return;
  const generated = args.length === 0 || message == null;
  let text = message;
  if (args.length === 0) text = "No value argument passed to `assert.ok()`";
  else if (generated) text = require("internal/assert_source").describe(fn);
  if (text instanceof Error) throw text;
  const options = { actual: value, expected: true, message: text, operator: "==", stackStartFn: fn };
  const error = new assert.AssertionError(options);
  error.generatedMessage = generated;
  throw error;
}

function assert(...args) {
  checkTruth(assert, args);
}
Object.defineProperty(assert, "name", { value: "ok", configurable: true });

const isEqual = (a, b) => a == b || (a !== a && b !== b);

function equal(actual, expected, message) {
  check(isEqual, arguments, { operator: "==", stackStartFn: equal });
}

function notEqual(actual, expected, message) {
  check((a, b) => !isEqual(a, b), arguments, { operator: "!=", stackStartFn: notEqual });
}

function strictEqual(actual, expected, message) {
  check(Object.is, arguments, { operator: "strictEqual", stackStartFn: strictEqual });
}

function notStrictEqual(actual, expected, message) {
  check((a, b) => !Object.is(a, b), arguments, { operator: "notStrictEqual", stackStartFn: notStrictEqual });
}

function deepEqual(actual, expected, message) {
  check(deep().isDeepEqual, arguments, { operator: "deepEqual", stackStartFn: deepEqual });
}

function notDeepEqual(actual, expected, message) {
  const isRight = (a, b) => !deep().isDeepEqual(a, b);
  check(isRight, arguments, { operator: "notDeepEqual", stackStartFn: notDeepEqual });
}

function deepStrictEqual(actual, expected, message) {
  check(deep().isDeepStrictEqual, arguments, { operator: "deepStrictEqual", stackStartFn: deepStrictEqual });
}

function notDeepStrictEqual(actual, expected, message) {
  const isRight = (a, b) => !deep().isDeepStrictEqual(a, b);
  check(isRight, arguments, { operator: "notDeepStrictEqual", stackStartFn: notDeepStrictEqual });
}

let isWarned = false;

function warnOfArguments() {
  if (isWarned) return;
  isWarned = true;
  require("internal/warning").emitWarning(
    "assert.fail() with more than one argument is deprecated. " +
      "Please use assert.strictEqual() instead or only pass a message.",
    "DeprecationWarning",
    "DEP0094",
  );
}

function fail(actual, expected, message, operator, stackStartFn) {
  const count = arguments.length;
  const isFailed = count <= 1 && actual == null;
  if (isFailed) message = "Failed";
  else if (count === 1) [actual, message] = [undefined, actual];
  else warnOfArguments();
  operator ??= count === 2 ? "!=" : "fail";
  if (message instanceof Error) throw message;
  const options = { actual, expected, message, operator, stackStartFn: stackStartFn ?? fail };
  const error = new assert.AssertionError(options);
  if (isFailed) error.generatedMessage = true;
  throw error;
}

function ifError(value) {
  if (value === null || value === undefined) return;
  let message = "ifError got unwanted exception: ";
  if (typeof value === "object" && typeof value.message === "string") {
    message += value.message.length === 0 && value.constructor ? value.constructor.name : value.message;
  } else message += show(value);
  const error = new assert.AssertionError({
    actual: value,
    expected: null,
    operator: "ifError",
    message,
    stackStartFn: ifError,
  });
  error.generatedMessage = !message;
  throw error;
}

function checkMatch(fn, wanted, args) {
  const [string, regexp, message] = args;
  if (!isRegExp(regexp)) throw errors().invalidArgType("regexp", "RegExp", regexp);
  if (typeof string === "string" && regexp.test(string) === wanted) return;
  if (message instanceof Error) throw message;
  let text = message;
  if (!message && typeof string !== "string") {
    text = `The "string" argument must be of type string. Received type ${typeof string} (${show(string)})`;
  } else if (!message) {
    text = wanted ? "The input did not match the" : "The input was expected to not match the";
    text += ` regular expression ${show(regexp)}. Input:\n\n${show(string)}\n`;
  }
  const options = { actual: string, expected: regexp, message: text, operator: fn.name, stackStartFn: fn };
  const error = new assert.AssertionError(options);
  error.generatedMessage = !message;
  throw error;
}

function match(string, regexp, message) {
  checkMatch(match, true, arguments);
}

function doesNotMatch(string, regexp, message) {
  checkMatch(doesNotMatch, false, arguments);
}

const expected = () => require("internal/assert_throws");

function throws(fn, ...args) {
  expected().checkError(throws, expected().thrownBy(fn), args);
}

async function rejects(promiseFn, ...args) {
  expected().checkError(rejects, await expected().rejectionOf(promiseFn), args);
}

function doesNotThrow(fn, ...args) {
  expected().checkNoError(doesNotThrow, expected().thrownBy(fn), args);
}

async function doesNotReject(fn, ...args) {
  expected().checkNoError(doesNotReject, await expected().rejectionOf(fn), args);
}

const methods = {
  fail,
  ok: assert,
  equal,
  notEqual,
  deepEqual,
  notDeepEqual,
  deepStrictEqual,
  notDeepStrictEqual,
  strictEqual,
  notStrictEqual,
  throws,
  rejects,
  doesNotThrow,
  doesNotReject,
  ifError,
  match,
  doesNotMatch,
};
const strictMethods = {
  equal: strictEqual,
  deepEqual: deepStrictEqual,
  notEqual: notStrictEqual,
  notDeepEqual: notDeepStrictEqual,
};

function strict(...args) {
  checkTruth(strict, args);
}

for (const target of [assert, strict]) {
  Object.assign(target, methods, { strict });
  const define = (value) => {
    const property = { __proto__: null, value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(target, "AssertionError", property);
    return value;
  };
  // Loaded by the first assertion that fails, or by whoever asks.
  Object.defineProperty(target, "AssertionError", {
    get: () => define(require("internal/assertion_error").AssertionError),
    set: define,
    enumerable: true,
    configurable: true,
  });
}
Object.assign(strict, strictMethods);

module.exports = assert;

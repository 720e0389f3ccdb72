"use strict";

const { crypto, fillRandom } = require("internal/crypto");
const {
  invalidArgType, outOfRange, validateBoolean, validateFunction, validateObject,
} = require("internal/errors");

const MAX_SIZE = 2 ** 31 - 1;
// Six random bytes make numbers below this.
const RANDOM_LIMIT = 2 ** 48;

// The callback gets its result in a turn of its own.
function later(callback, error, result) {
  require("timers").setImmediate(callback, error, result);
}

function checkedSize(value, name, scale, max) {
  if (typeof value !== "number") throw invalidArgType(name, "number", value);
  value *= scale;
  if (!(value >= 0 && value <= max)) throw outOfRange(name, `>= 0 && <= ${max}`, value);
  return Math.trunc(value);
}

function randomBytes(size, callback = undefined) {
  size = checkedSize(size, "size", 1, MAX_SIZE);
  if (callback !== undefined) validateFunction(callback, "callback");
  const bytes = require("buffer").Buffer.alloc(size);
  fillRandom(bytes);
  if (callback === undefined) return bytes;
  later(callback, null, bytes);
}

function isBytes(value) {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer;
}

function fill(target, offset, size) {
  const view = ArrayBuffer.isView(target) ? target : new Uint8Array(target);
  const scale = view.BYTES_PER_ELEMENT ?? 1;
  const start = checkedSize(offset, "offset", scale, view.byteLength);
  const length = size === undefined
    ? view.byteLength - start
    : checkedSize(size, "size", scale, MAX_SIZE);
  if (start + length > view.byteLength) {
    throw outOfRange("size + offset", `<= ${view.byteLength}`, start + length);
  }
  fillRandom(view, start, length);
}

function randomFillSync(buf, offset = 0, size = undefined) {
  if (!isBytes(buf)) throw invalidArgType("buf", ["ArrayBuffer", "ArrayBufferView"], buf);
  fill(buf, offset, size);
  return buf;
}

function randomFill(buf, offset, size, callback) {
  if (!isBytes(buf)) throw invalidArgType("buf", ["ArrayBuffer", "ArrayBufferView"], buf);
  if (typeof offset === "function") [offset, size, callback] = [0, undefined, offset];
  else if (typeof size === "function") [size, callback] = [undefined, size];
  validateFunction(callback, "callback");
  fill(buf, offset, size);
  later(callback, null, buf);
}

function randomInt(min, max, callback) {
  const onlyMax = max === undefined || typeof max === "function";
  if (onlyMax) [min, max, callback] = [0, min, max];
  if (callback !== undefined) validateFunction(callback, "callback");
  if (!Number.isSafeInteger(min)) throw invalidArgType("min", "a safe integer", min);
  if (!Number.isSafeInteger(max)) throw invalidArgType("max", "a safe integer", max);
  if (max <= min) throw outOfRange("max", `greater than the value of "min" (${min})`, max);
  const range = max - min;
  if (range >= RANDOM_LIMIT) throw outOfRange("max - min", `<= ${RANDOM_LIMIT - 1}`, range);
  // Numbers at or above this would make some results likelier than others.
  const limit = RANDOM_LIMIT - (RANDOM_LIMIT % range);
  let number;
  do {
    number = host.randomBytes(6).reduce((sum, byte) => sum * 256 + byte, 0);
  } while (number >= limit);
  const result = min + (number % range);
  if (callback === undefined) return result;
  later(callback, undefined, result);
}

function randomUUID(options = undefined) {
  if (options !== undefined) {
    validateObject(options, "options");
    if (options.disableEntropyCache !== undefined) {
      validateBoolean(options.disableEntropyCache, "options.disableEntropyCache");
    }
  }
  return crypto.randomUUID();
}

function bytesToCompare(value, name) {
  if (!isBytes(value)) {
    const classes = "ArrayBuffer, Buffer, TypedArray, or DataView";
    const error = new TypeError(`The "${name}" argument must be an instance of ${classes}.`);
    throw Object.assign(error, { code: "ERR_INVALID_ARG_TYPE" });
  }
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
}

function timingSafeEqual(buf1, buf2) {
  const a = bytesToCompare(buf1, "buf1");
  const b = bytesToCompare(buf2, "buf2");
  if (a.length !== b.length) {
    const error = new RangeError("Input buffers must have the same byte length");
    throw Object.assign(error, { code: "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH" });
  }
  return host.timingSafeEqual(a, b);
}

module.exports = {
  getRandomValues: (array) => crypto.getRandomValues(array),
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID,
  timingSafeEqual,
  webcrypto: crypto,
};

"use strict";

const { codeError } = require("internal/errors");
const { DOMException, isDOMException } = require("internal/dom_exception");
const { clonerOf, isObject, isPlatformObject, missingArgs } = require("internal/webidl");

const TypedArray = Object.getPrototypeOf(Uint8Array);
const viewClasses = {};
for (const Class of [
  DataView, Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
  BigInt64Array, BigUint64Array, Float32Array, Float64Array,
]) viewClasses[Class.name] = Class;
if (typeof Float16Array === "function") viewClasses.Float16Array = Float16Array;

const errorClasses = {
  __proto__: null, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError,
};

// Classes of the language whose instances look like plain objects from outside.
const opaque = new Set([
  FinalizationRegistry.prototype,
  Object.getPrototypeOf([][Symbol.iterator]()),
  Object.getPrototypeOf(""[Symbol.iterator]()),
]);

// A view of a buffer that is about to be transferred: made when it has been.
class PendingView {
  constructor(Class, buffer, offset, length) {
    Object.assign(this, { Class, buffer, offset, length });
  }
}

function dataCloneError(message) {
  return new DOMException(message, "DataCloneError");
}

function refuse(value) {
  const shown = typeof value === "object" ? `#<${value.constructor?.name || "Object"}>` : String(value);
  return dataCloneError(`${shown} could not be cloned.`);
}

function clone(value, memory) {
  if (!isObject(value)) {
    if (typeof value === "symbol") throw refuse(value);
    return value;
  }
  return memory.get(value) ?? cloneObject(value, memory);
}

function cloneObject(value, memory) {
  if (typeof value === "function") throw refuse(value);
  if (isDOMException(value)) {
    return remember(memory, value, copyStack(value, new DOMException(value.message, value.name)));
  }
  const details = host.details(value);
  switch (details?.[0]) {
    case undefined:
      return clonePlain(value, memory);
    case "Boxed":
      return remember(memory, value, cloneBoxed(value, details[1]));
    case "Date":
      return remember(memory, value, new Date(Date.prototype.getTime.call(value)));
    case "RegExp":
      return remember(memory, value, new RegExp(value.source, value.flags));
    case "Map":
      return cloneMap(value, memory);
    case "Set":
      return cloneSet(value, memory);
    case "Error":
      return cloneError(value, memory);
    case "ArrayBuffer":
      return remember(memory, value, copyBuffer(value));
    case "DataView":
      return cloneView(value, DataView, memory);
    case "TypedArray":
      return cloneView(value, viewClasses[details[1]], memory);
    default:
      throw refuse(value);
  }
}

function remember(memory, value, copy) {
  memory.set(value, copy);
  return copy;
}

function define(object, key, value, enumerable) {
  return Object.defineProperty(object, key, { value, writable: true, enumerable, configurable: true });
}

function clonePlain(value, memory) {
  if (value instanceof PendingView) {
    const { Class, buffer, offset, length } = value;
    return remember(memory, value, new Class(memory.get(buffer), offset, length));
  }
  const isArray = Array.isArray(value);
  const proto = Object.getPrototypeOf(value);
  if (!isArray && proto !== Object.prototype && proto !== null) {
    if (isPlatformObject(value)) {
      const cloner = clonerOf(value);
      if (cloner) return remember(memory, value, cloner(value));
    }
    if (opaque.has(proto) || isPlatformObject(value)) throw refuse(value);
  }
  const copy = remember(memory, value, isArray ? new Array(value.length) : {});
  for (const key of Object.keys(value)) {
    // A getter may have deleted what comes behind it.
    if (!Object.hasOwn(value, key)) continue;
    const item = clone(value[key], memory);
    if (key === "__proto__") define(copy, key, item, true);
    else copy[key] = item;
  }
  return copy;
}

function cloneBoxed(value, type) {
  switch (type) {
    case "Number":
      return Object(Number.prototype.valueOf.call(value));
    case "String":
      return Object(String.prototype.valueOf.call(value));
    case "Boolean":
      return Object(Boolean.prototype.valueOf.call(value));
    case "BigInt":
      return Object(BigInt.prototype.valueOf.call(value));
    default:
      throw refuse(value);
  }
}

function cloneMap(value, memory) {
  const copy = remember(memory, value, new Map());
  for (const [key, item] of [...Map.prototype.entries.call(value)]) {
    copy.set(clone(key, memory), clone(item, memory));
  }
  return copy;
}

function cloneSet(value, memory) {
  const copy = remember(memory, value, new Set());
  for (const item of [...Set.prototype.values.call(value)]) copy.add(clone(item, memory));
  return copy;
}

function cloneError(value, memory) {
  const Class = errorClasses[value.name] ?? Error;
  const message = Object.getOwnPropertyDescriptor(value, "message")?.value;
  const copy = remember(memory, value, new Class(message === undefined ? undefined : String(message)));
  copyStack(value, copy);
  if (Object.hasOwn(value, "cause")) define(copy, "cause", clone(value.cause, memory), false);
  return copy;
}

function copyStack(from, to) {
  const { stack } = from;
  return typeof stack === "string" ? define(to, "stack", stack, false) : to;
}

function copyBuffer(buffer) {
  if (buffer.detached) throw dataCloneError("An ArrayBuffer is detached and could not be cloned.");
  const { byteLength, maxByteLength, resizable } = buffer;
  const copy = resizable ? new ArrayBuffer(byteLength, { maxByteLength }) : new ArrayBuffer(byteLength);
  new Uint8Array(copy).set(new Uint8Array(buffer));
  return copy;
}

function cloneView(view, Class, memory) {
  const { buffer } = view;
  const copy = clone(buffer, memory);
  let length;
  try {
    // Both throw for views that are out of bounds by now.
    if (Class !== DataView) TypedArray.prototype.keys.call(view);
    length = Class === DataView ? view.byteLength : view.length;
  } catch {
    throw refuse(view);
  }
  if (isLengthTracking(view)) length = undefined;
  const { byteOffset } = view;
  return remember(memory, view, copy === buffer
    ? new PendingView(Class, buffer, byteOffset, length)
    : new Class(copy, byteOffset, length));
}

// Nothing tells directly whether a view follows the length of its buffer: one byte more or less shows it.
function isLengthTracking(view) {
  const { buffer, byteLength, byteOffset, BYTES_PER_ELEMENT: step = 1 } = view;
  const size = buffer.byteLength;
  if (!buffer.resizable || byteOffset + byteLength + step <= size) return false;
  if (size + step <= buffer.maxByteLength) {
    buffer.resize(size + step);
    const follows = view.byteLength > byteLength;
    buffer.resize(size);
    return follows;
  }
  if (byteLength <= step) return false;
  const end = new Uint8Array(buffer, size - step).slice();
  buffer.resize(size - step);
  let follows = false;
  try {
    follows = view.byteLength > 0;
  } catch {
    // A DataView that does not follow is out of bounds now.
  }
  buffer.resize(size);
  new Uint8Array(buffer, size - step).set(end);
  return follows;
}

function invalidType(message) {
  return codeError(TypeError, "ERR_INVALID_ARG_TYPE", message);
}

function transferListOf(options) {
  if (options == null) return [];
  if (!isObject(options)) {
    throw invalidType("The options argument must be either an object or undefined");
  }
  const { transfer } = options;
  if (transfer == null) return [];
  if (!isObject(transfer) || typeof transfer[Symbol.iterator] !== "function") {
    throw invalidType("Optional transferList argument must be an iterable");
  }
  const list = [...transfer];
  for (const [index, item] of list.entries()) {
    const message = "Found invalid object in transferList";
    if (!isObject(item)) throw codeError(TypeError, "ERR_INVALID_TRANSFER_OBJECT", message);
    if (host.details(item)?.[0] !== "ArrayBuffer") throw dataCloneError(message);
    if (list.indexOf(item) < index) throw dataCloneError("Transfer list contains duplicate ArrayBuffer");
  }
  return list;
}

function structuredClone(value, options = undefined) {
  if (arguments.length === 0) throw missingArgs("value");
  const buffers = transferListOf(options);
  if (buffers.length === 0) return clone(value, new Map());
  // Nothing may be transferred before all could be cloned: the first copy keeps the buffers as they are,
  // and the copy of that has the transferred ones in their places.
  const draft = clone(value, new Map(buffers.map((buffer) => [buffer, buffer])));
  if (buffers.some((buffer) => buffer.detached)) {
    throw dataCloneError("An ArrayBuffer is detached and could not be transferred.");
  }
  return clone(draft, new Map(buffers.map((buffer) => [buffer, buffer.transfer()])));
}

module.exports = { structuredClone };

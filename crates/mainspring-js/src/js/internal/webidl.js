"use strict";

const { codeError, invalidArgType } = require("internal/errors");

const prototypes = new Set();
const cloners = new Map();

// Gives a class the shape of a WebIDL interface: enumerable members, a tag, constants on both sides.
function defineInterface(Class, constants = {}) {
  const { name, prototype } = Class;
  for (const [holder, hidden] of [[prototype, ["constructor"]], [Class, ["length", "name", "prototype"]]]) {
    for (const key of Object.getOwnPropertyNames(holder)) {
      if (!hidden.includes(key)) Object.defineProperty(holder, key, { enumerable: true });
    }
    for (const key of Object.keys(constants)) {
      Object.defineProperty(holder, key, { value: constants[key], enumerable: true });
    }
  }
  Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
  prototypes.add(prototype);
}

// Whether an object is an instance of an interface. Such objects cannot be cloned, unless they say how.
function isPlatformObject(object) {
  for (let proto = Object.getPrototypeOf(object); proto !== null; proto = Object.getPrototypeOf(proto)) {
    if (prototypes.has(proto)) return true;
  }
  return false;
}

// Says how instances of an interface are cloned.
function defineCloner(Class, clone) {
  cloners.set(Class.prototype, clone);
}

// The function that clones an instance of an interface, if there is one.
function clonerOf(object) {
  for (let proto = Object.getPrototypeOf(object); proto !== null; proto = Object.getPrototypeOf(proto)) {
    if (cloners.has(proto)) return cloners.get(proto);
  }
  return undefined;
}

function isObject(value) {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

// What WebIDL calls a DOMString. A template would do, but the engine calls a method for it.
function toText(value) {
  if (typeof value === "string") return value;
  if (typeof value === "symbol") throw new TypeError("Cannot convert a Symbol value to a string");
  return String(value);
}

// The argument that is to be read as a dictionary: undefined if there is none.
function dictionary(value, name) {
  if (value == null) return undefined;
  if (!isObject(value)) throw invalidArgType(name, "object", value);
  return value;
}

function illegalConstructor() {
  return codeError(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor");
}

function invalidThis(name) {
  return codeError(TypeError, "ERR_INVALID_THIS", `Value of "this" must be of type ${name}`);
}

function missingArgs(...names) {
  const quoted = names.map((name) => `"${name}"`);
  const which = `${quoted.join(" and ")} argument${names.length > 1 ? "s" : ""}`;
  return codeError(TypeError, "ERR_MISSING_ARGS", `The ${which} must be specified`);
}

module.exports = {
  clonerOf,
  defineCloner,
  defineInterface,
  dictionary,
  illegalConstructor,
  invalidThis,
  isObject,
  isPlatformObject,
  missingArgs,
  toText,
};

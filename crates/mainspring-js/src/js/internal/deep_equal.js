"use strict";

const { details } = host;
const { getPrototypeOf, hasOwn, keys: keysOf } = Object;

const isObject = (value) => value !== null && typeof value === "object";

// What an object is inside, whatever its prototype says.
function kindOf(value) {
  if (Array.isArray(value)) return "Array";
  const found = details(value);
  const kind = found?.[0];
  if (kind === "Boxed" || kind === "TypedArray") return found[1];
  if (kind === "Proxy") return undefined;
  return kind === "Error" || value instanceof Error ? "Error" : kind;
}

function sameBytes(a, b) {
  if (a.byteLength !== b.byteLength) return false;
  const [left, right] = [bytes(a), bytes(b)];
  return left.every((byte, index) => byte === right[index]);
}

function bytes(value) {
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
}

// The part of each kind that is not in properties. What is not listed has no such part.
const insides = {
  Array: (a, b) => a.length === b.length,
  Date: (a, b) => Date.prototype.getTime.call(a) === Date.prototype.getTime.call(b),
  RegExp: (a, b) => a.source === b.source && a.flags === b.flags && a.lastIndex === b.lastIndex,
  Error: (a, b) => a.message === b.message && a.name === b.name,
  ArrayBuffer: sameBytes,
  SharedArrayBuffer: sameBytes,
  DataView: sameBytes,
  Set: (a, b) => a.size === b.size,
  Map: (a, b) => a.size === b.size,
};
for (const name of ["Number", "String", "Boolean", "BigInt", "Symbol"]) {
  const valueOf = (value) => globalThis[name].prototype.valueOf.call(value);
  insides[name] = (a, b) => Object.is(valueOf(a), valueOf(b));
}
for (const size of ["8", "16", "32"]) {
  insides[`Int${size}Array`] = insides[`Uint${size}Array`] = sameBytes;
}
insides.Uint8ClampedArray = insides.BigInt64Array = insides.BigUint64Array = sameBytes;
insides.Float32Array = insides.Float64Array = (a, b, strict) =>
  strict ? sameBytes(a, b) : a.length === b.length && a.every((number, index) => number === b[index]);

class Comparison {
  constructor(strict) {
    this.strict = strict;
    // Pairs that are being compared, to end cycles: a to b, and b to a.
    this.left = new Map();
    this.right = new Map();
  }

  equal(a, b) {
    if (a === b) return a !== 0 || !this.strict || Object.is(a, b);
    if (!isObject(a) || !isObject(b)) {
      if (isObject(a) || isObject(b)) return false;
      return (!this.strict && a == b) || (a !== a && b !== b);
    }
    if (this.strict && getPrototypeOf(a) !== getPrototypeOf(b)) return false;
    const tag = Object.prototype.toString.call(a);
    if (tag !== Object.prototype.toString.call(b)) return false;
    if (tag === "[object URL]" && a.href !== b.href) return false;
    const isPlain = tag === "[object Object]";
    const kind = isPlain ? undefined : kindOf(a);
    if (!isPlain && kind !== kindOf(b)) return false;
    if (insides[kind] && !insides[kind](a, b, this.strict)) return false;
    return this.members(a, b, kind);
  }

  members(a, b, kind) {
    const keys = this.keys(a, kind);
    const others = this.keys(b, kind);
    if (keys.length !== others.length) return false;
    if (!keys.every((key) => Object.prototype.propertyIsEnumerable.call(b, key))) return false;

    const seenLeft = this.left.get(a);
    const seenRight = this.right.get(b);
    if (seenLeft !== undefined && seenRight !== undefined) return seenLeft === b;
    this.left.set(a, b);
    this.right.set(b, a);
    const result = this.contents(a, b, kind) && keys.every((key) => this.equal(a[key], b[key]));
    this.left.delete(a);
    this.right.delete(b);
    return result;
  }

  // Numbers of arrays are compared as contents; symbols only count if strict.
  keys(value, kind) {
    let keys = keysOf(value);
    if (kind === "Array" || ArrayBuffer.isView(value)) {
      keys = keys.filter((key) => !(/^(0|[1-9]\d{0,9})$/.test(key) && key < 4294967295));
    }
    if (this.strict) {
      const isEnumerable = (symbol) => Object.prototype.propertyIsEnumerable.call(value, symbol);
      keys.push(...Object.getOwnPropertySymbols(value).filter(isEnumerable));
    }
    return keys;
  }

  contents(a, b, kind) {
    if (kind === "Array") return this.items(a, b);
    if (kind === "Set") return this.sets(a, b);
    if (kind === "Error") return this.equal(a.cause, b.cause) && this.equal(a.errors, b.errors);
    return kind !== "Map" || this.maps(a, b);
  }

  items(a, b) {
    for (let index = 0; index < a.length; index++) {
      if (hasOwn(a, index) !== hasOwn(b, index)) return false;
      if (!this.equal(a[index], b[index])) return false;
    }
    return true;
  }

  // Each value that the other set does not have itself needs an equal one there.
  sets(a, b) {
    const rest = [];
    for (const value of b) if (isObject(value) || !a.has(value)) rest.push(value);
    for (const value of a) {
      if (!isObject(value) && b.has(value)) continue;
      if (this.strict && !isObject(value)) return false;
      if (!this.take(rest, (other) => this.equal(value, other))) return false;
    }
    return rest.length === 0;
  }

  maps(a, b) {
    const inBoth = (key) => !isObject(key) && a.has(key) && b.has(key);
    const isDirect = (key) => inBoth(key) && this.equal(a.get(key), b.get(key));
    const rest = [];
    for (const entry of b) if (!isDirect(entry[0])) rest.push(entry);
    for (const [key, value] of a) {
      if (isDirect(key)) continue;
      if (this.strict && !isObject(key)) return false;
      const isEqual = ([otherKey, other]) => this.equal(key, otherKey) && this.equal(value, other);
      if (!this.take(rest, isEqual)) return false;
    }
    return rest.length === 0;
  }

  take(rest, isEqual) {
    const index = rest.findIndex(isEqual);
    if (index !== -1) rest.splice(index, 1);
    return index !== -1;
  }
}

module.exports = {
  isDeepEqual: (a, b) => new Comparison(false).equal(a, b),
  isDeepStrictEqual: (a, b) => new Comparison(true).equal(a, b),
};

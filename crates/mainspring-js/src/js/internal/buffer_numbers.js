"use strict";

const { codeError, invalidArgType, outOfRange } = require("internal/errors");

const scratch = new DataView(new ArrayBuffer(8));
const scratchBytes = new Uint8Array(scratch.buffer);

function checkOffset(buffer, offset, size) {
  const last = buffer.length - size;
  if (typeof offset === "number" && offset >= 0 && offset <= last && Number.isInteger(offset)) return;
  if (typeof offset !== "number") throw invalidArgType("offset", "number", offset);
  if (Math.floor(offset) !== offset) throw outOfRange("offset", "an integer", offset);
  if (last < 0) {
    throw codeError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", "Attempt to access memory outside buffer bounds");
  }
  throw outOfRange("offset", `>= 0 and <= ${last}`, offset);
}

function checkByteLength(byteLength) {
  if (typeof byteLength !== "number") throw invalidArgType("byteLength", "number", byteLength);
  if (Math.floor(byteLength) !== byteLength) throw outOfRange("byteLength", "an integer", byteLength);
  if (byteLength < 1 || byteLength > 6) throw outOfRange("byteLength", ">= 1 and <= 6", byteLength);
}

function checkValue(value, size, isSigned) {
  const bits = size * 8 - (isSigned ? 1 : 0);
  const limit = 2 ** bits;
  const min = isSigned ? -limit : 0;
  if (!(value < min || value > limit - 1)) return;
  if (size <= 4) throw outOfRange("value", `>= ${min} and <= ${limit - 1}`, value);
  throw outOfRange("value", `>= ${isSigned ? `-(2 ** ${bits})` : "0"} and < 2 ** ${bits}`, value);
}

function readInteger(buffer, offset, size, isSigned, isLittle) {
  checkOffset(buffer, offset, size);
  let value = 0;
  if (isLittle) for (let i = offset + size - 1; i >= offset; i--) value = value * 256 + buffer[i];
  else for (let i = offset; i < offset + size; i++) value = value * 256 + buffer[i];
  return isSigned && value >= 2 ** (size * 8 - 1) ? value - 2 ** (size * 8) : value;
}

function writeInteger(buffer, value, offset, size, isSigned, isLittle) {
  value = Math.trunc(value);
  checkValue(value, size, isSigned);
  checkOffset(buffer, offset, size);
  for (let i = 0; i < size; i++) {
    buffer[isLittle ? offset + i : offset + size - 1 - i] = value;
    value = Math.floor(value / 256);
  }
  return offset + size;
}

function checkBigInt(value, isSigned) {
  const bits = isSigned ? 63n : 64n;
  const limit = 2n ** bits;
  if (value >= limit || value < (isSigned ? -limit : 0n)) {
    throw outOfRange("value", `>= ${isSigned ? `-(2n ** ${bits}n)` : "0n"} and < 2n ** ${bits}n`, value);
  }
  if (typeof value !== "bigint") {
    throw new TypeError("Cannot mix BigInt and other types, use explicit conversions");
  }
}

const viewNames = { Float: "Float32", Double: "Float64", BigInt64: "BigInt64", BigUInt64: "BigUint64" };

// All methods that read and write numbers.
function install(prototype) {
  const add = (name, method) => {
    Object.defineProperty(method, "name", { value: name, configurable: true });
    prototype[name] = method;
    if (name.includes("UInt")) prototype[name.replace("UInt", "Uint")] = method;
  };
  const addInteger = (name, size, isSigned, isLittle) => {
    add(`read${name}`, function (offset = 0) {
      return readInteger(this, offset, size, isSigned, isLittle);
    });
    add(`write${name}`, function (value, offset = 0) {
      return writeInteger(this, value, offset, size, isSigned, isLittle);
    });
  };
  // Through the scratch memory, with the methods of a DataView.
  const addView = (kind, size, isLittle, check) => {
    const get = `get${viewNames[kind]}`;
    const set = `set${viewNames[kind]}`;
    const name = `${kind}${isLittle ? "LE" : "BE"}`;
    add(`read${name}`, function (offset = 0) {
      checkOffset(this, offset, size);
      for (let i = 0; i < size; i++) scratchBytes[i] = this[offset + i];
      return scratch[get](0, isLittle);
    });
    add(`write${name}`, function (value, offset = 0) {
      check?.(value);
      scratch[set](0, value, isLittle);
      checkOffset(this, offset, size);
      for (let i = 0; i < size; i++) this[offset + i] = scratchBytes[i];
      return offset + size;
    });
  };
  for (const isSigned of [false, true]) {
    const kind = isSigned ? "Int" : "UInt";
    addInteger(`${kind}8`, 1, isSigned, true);
    for (const isLittle of [true, false]) {
      const suffix = isLittle ? "LE" : "BE";
      addInteger(`${kind}16${suffix}`, 2, isSigned, isLittle);
      addInteger(`${kind}32${suffix}`, 4, isSigned, isLittle);
      addView(`Big${kind}64`, 8, isLittle, (value) => checkBigInt(value, isSigned));
      add(`read${kind}${suffix}`, function (offset, byteLength) {
        if (offset === undefined) throw invalidArgType("offset", "number", offset);
        checkByteLength(byteLength);
        return readInteger(this, offset, byteLength, isSigned, isLittle);
      });
      add(`write${kind}${suffix}`, function (value, offset, byteLength) {
        checkByteLength(byteLength);
        return writeInteger(this, value, offset, byteLength, isSigned, isLittle);
      });
    }
  }
  for (const isLittle of [true, false]) {
    addView("Float", 4, isLittle);
    addView("Double", 8, isLittle);
  }
}

module.exports = { install };

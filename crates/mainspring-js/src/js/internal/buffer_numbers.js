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

// All methods that read and write numbers.
function install(prototype) {
  const methods = [];
  const both = (name, size, read, write) => {
    methods.push([`read${name}`, function (offset = 0) {
      return read(this, offset, size);
    }]);
    methods.push([`write${name}`, function (value, offset = 0) {
      return write(this, value, offset, size);
    }]);
  };
  // Through the scratch memory, with the methods of a DataView.
  const view = (kind, size, suffix, isLittle, check) => {
    both(`${kind}${suffix}`, size, (buffer, offset) => {
      checkOffset(buffer, offset, size);
      for (let i = 0; i < size; i++) scratchBytes[i] = buffer[offset + i];
      return scratch[`get${viewNames[kind]}`](0, isLittle);
    }, (buffer, value, offset) => {
      check?.(value);
      scratch[`set${viewNames[kind]}`](0, value, isLittle);
      checkOffset(buffer, offset, size);
      for (let i = 0; i < size; i++) buffer[offset + i] = scratchBytes[i];
      return offset + size;
    });
  };
  const viewNames = { Float: "Float32", Double: "Float64", BigInt64: "BigInt64", BigUInt64: "BigUint64" };
  for (const isSigned of [false, true]) {
    const kind = isSigned ? "Int" : "UInt";
    both(`${kind}8`, 1, (buffer, offset) => readInteger(buffer, offset, 1, isSigned, true),
      (buffer, value, offset) => writeInteger(buffer, value, offset, 1, isSigned, true));
    for (const isLittle of [true, false]) {
      const suffix = isLittle ? "LE" : "BE";
      for (const size of [2, 4]) {
        both(`${kind}${size * 8}${suffix}`, size,
          (buffer, offset) => readInteger(buffer, offset, size, isSigned, isLittle),
          (buffer, value, offset) => writeInteger(buffer, value, offset, size, isSigned, isLittle));
      }
      view(`Big${kind}64`, 8, suffix, isLittle, (value) => checkBigInt(value, isSigned));
      methods.push([`read${kind}${suffix}`, function (offset, byteLength) {
        if (offset === undefined) throw invalidArgType("offset", "number", offset);
        checkByteLength(byteLength);
        return readInteger(this, offset, byteLength, isSigned, isLittle);
      }]);
      methods.push([`write${kind}${suffix}`, function (value, offset, byteLength) {
        checkByteLength(byteLength);
        return writeInteger(this, value, offset, byteLength, isSigned, isLittle);
      }]);
      if (isSigned) {
        view("Float", 4, suffix, isLittle);
        view("Double", 8, suffix, isLittle);
      }
    }
  }
  for (const [name, method] of methods) {
    Object.defineProperty(method, "name", { value: name, configurable: true });
    prototype[name] = method;
    if (name.includes("UInt")) prototype[name.replace("UInt", "Uint")] = method;
  }
}

module.exports = { install };

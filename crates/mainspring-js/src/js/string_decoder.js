"use strict";

const { Buffer } = require("buffer");
const { codeError, invalidArgType } = require("internal/errors");

// How many bytes at the end are the start of a character, and how many the character has.
function utf8Tail(bytes) {
  for (let count = 1; count <= 3 && count <= bytes.length; count++) {
    const byte = bytes[bytes.length - count];
    if ((byte & 0xc0) === 0x80) continue;
    let total = 1;
    if (byte >= 0xc0 && byte < 0xf8) total = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return count < total ? [count, total] : [0, 0];
  }
  return [0, 0];
}

function utf16Tail(bytes, before) {
  // Half of a unit behind the first of a pair waits together with it.
  if (bytes.length % 2 === 1) return before === 2 && bytes.length === 3 ? [3, 4] : [1, 2];
  const high = bytes.at(-1);
  return high >= 0xd8 && high <= 0xdb ? [2, 4] : [0, 0];
}

function base64Tail(bytes) {
  const count = bytes.length % 3;
  return [count, count === 0 ? 0 : 3];
}

const tails = { utf8: utf8Tail, utf16le: utf16Tail, base64: base64Tail, base64url: base64Tail };

const names = {
  "utf-8": "utf8",
  ucs2: "utf16le",
  "ucs-2": "utf16le",
  "utf-16le": "utf16le",
  binary: "latin1",
};

const pending = Symbol("pending");
const total = Symbol("total");

// A function, because classes of old call it without `new`.
function StringDecoder(encoding) {
  const name = `${encoding ?? "utf8"}`.toLowerCase();
  if (!Buffer.isEncoding(name)) {
    throw codeError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${encoding}`);
  }
  this.encoding = names[name] ?? name;
  forget(this);
}

function forget(decoder) {
  decoder[pending] = Buffer.alloc(0);
  decoder[total] = 0;
}

StringDecoder.prototype.write = function write(buf) {
  if (typeof buf === "string") return buf;
  if (!ArrayBuffer.isView(buf)) throw invalidArgType("buf", ["Buffer", "TypedArray", "DataView"], buf);
  let bytes = Buffer.from(buf.buffer, buf.byteOffset, buf.byteLength);
  const tailOf = tails[this.encoding];
  if (tailOf === undefined) return bytes.toString(this.encoding);
  const before = this[pending].length;
  if (before > 0) bytes = Buffer.concat([this[pending], bytes]);
  const [count, size] = tailOf(bytes, before);
  // Kept as a copy: the caller may use the memory again.
  this[pending] = Buffer.from(bytes.subarray(bytes.length - count));
  this[total] = size;
  return bytes.toString(this.encoding, 0, bytes.length - count);
};

StringDecoder.prototype.end = function end(buf) {
  const text = buf === undefined ? "" : this.write(buf);
  const rest = this[pending];
  forget(this);
  return text + rest.toString(this.encoding);
};

StringDecoder.prototype.text = function text(buf, offset) {
  forget(this);
  return this.write(buf.slice(offset));
};

Object.defineProperties(StringDecoder.prototype, {
  lastChar: { get() { return Buffer.concat([this[pending]], 4); }, enumerable: true, configurable: true },
  lastNeed: { get() { return this[total] - this[pending].length; }, enumerable: true, configurable: true },
  lastTotal: { get() { return this[total]; }, enumerable: true, configurable: true },
});

module.exports = { StringDecoder };

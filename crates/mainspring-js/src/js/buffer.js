"use strict";

const {
  codeError, invalidArgType, invalidArgValue, outOfRange, validateInteger, validateNumber, validateString,
} = require("internal/errors");

const kMaxLength = 2 ** 32;
const kStringMaxLength = 2 ** 29 - 24;
let maxShown = 50;
// Where looking for other properties would take too long.
const MAX_SHOWN_WITH_PROPERTIES = 65536;

const encodings = {
  __proto__: null,
  utf8: "utf8",
  "utf-8": "utf8",
  ucs2: "utf16le",
  "ucs-2": "utf16le",
  utf16le: "utf16le",
  "utf-16le": "utf16le",
  latin1: "latin1",
  binary: "latin1",
  ascii: "ascii",
  base64: "base64",
  base64url: "base64url",
  hex: "hex",
};

function knownEncoding(encoding) {
  const found = encodings[encoding] ?? encodings[`${encoding}`.toLowerCase()];
  if (found !== undefined) return found;
  throw codeError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${encoding}`);
}

class FastBuffer extends Uint8Array {}

function adopt(bytes) {
  return Object.setPrototypeOf(bytes, FastBuffer.prototype);
}

function encode(text, encoding) {
  if (encoding === "utf8") return host.encodeUtf8(text);
  if (encoding === "base64url") encoding = "base64";
  if (encoding === "ascii") encoding = "latin1";
  const isWide = encoding === "utf16le";
  // Lone surrogates do not cross to the host.
  if (!(isWide || encoding === "latin1") || text.isWellFormed()) return host.bytesFrom(text, encoding);
  const units = isWide ? new Uint16Array(text.length) : new Uint8Array(text.length);
  for (let i = 0; i < units.length; i++) units[i] = text.charCodeAt(i);
  return new Uint8Array(units.buffer);
}

function decode(bytes, encoding) {
  if (bytes.length > kStringMaxLength) {
    const limit = `0x${kStringMaxLength.toString(16)}`;
    throw codeError(Error, "ERR_STRING_TOO_LONG", `Cannot create a string longer than ${limit} characters`);
  }
  const decoded = host.bytesToText(bytes, encoding);
  if (decoded !== undefined) return decoded;
  let text = "";
  const length = bytes.length & ~1;
  for (let start = 0; start < length; start += 8192) {
    const units = [];
    const end = Math.min(start + 8192, length);
    for (let i = start; i < end; i += 2) units.push(bytes[i] | (bytes[i + 1] << 8));
    text += String.fromCharCode.apply(null, units);
  }
  return text;
}

function isAnyArrayBuffer(value) {
  return value instanceof ArrayBuffer || value instanceof SharedArrayBuffer;
}

function viewBytes(view) {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

function checkSize(size) {
  validateNumber(size, "size");
  if (!(size >= 0 && size <= kMaxLength)) throw outOfRange("size", `>= 0 && <= ${kMaxLength}`, size);
}

function checkBytes(value, name) {
  if (!(value instanceof Uint8Array)) throw invalidArgType(name, ["Buffer", "Uint8Array"], value);
}

function fromString(text, encoding) {
  const known = typeof encoding === "string" && encoding !== "" ? knownEncoding(encoding) : "utf8";
  return adopt(encode(text, known));
}

function outside(name) {
  return codeError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", `"${name}" is outside of buffer bounds`);
}

function fromArrayBuffer(buffer, byteOffset, length) {
  byteOffset = byteOffset === undefined ? 0 : +byteOffset || 0;
  const room = buffer.byteLength - byteOffset;
  if (room < 0) throw outside("offset");
  if (length === undefined) return new FastBuffer(buffer, byteOffset);
  length = +length > 0 ? +length : 0;
  if (length > room) throw outside("length");
  return new FastBuffer(buffer, byteOffset, length);
}

function fromArrayLike(list) {
  const buffer = new FastBuffer(list.length > 0 ? list.length : 0);
  if (buffer.length > 0) buffer.set(list);
  return buffer;
}

function fromObject(value) {
  if (value.length !== undefined || isAnyArrayBuffer(value.buffer)) {
    return typeof value.length === "number" ? fromArrayLike(value) : new FastBuffer();
  }
  if (value.type === "Buffer" && Array.isArray(value.data)) return fromArrayLike(value.data);
}

function Buffer(value, encodingOrOffset, length) {
  if (typeof value !== "number") return Buffer.from(value, encodingOrOffset, length);
  if (typeof encodingOrOffset === "string") throw invalidArgType("string", "string", value);
  return Buffer.alloc(value);
}

Object.setPrototypeOf(Buffer, Uint8Array);
Buffer.prototype = FastBuffer.prototype;
Object.defineProperty(Buffer.prototype, "constructor", { value: Buffer });
Object.defineProperty(Buffer, Symbol.species, { get: () => FastBuffer, configurable: true });

Buffer.poolSize = 8192;

Buffer.from = function from(value, encodingOrOffset, length) {
  if (typeof value === "string") return fromString(value, encodingOrOffset);
  if (typeof value === "object" && value !== null) {
    if (isAnyArrayBuffer(value)) return fromArrayBuffer(value, encodingOrOffset, length);
    const plain = value.valueOf?.();
    if (plain !== value && plain !== null && (typeof plain === "string" || typeof plain === "object")) {
      return from(plain, encodingOrOffset, length);
    }
    const buffer = fromObject(value);
    if (buffer !== undefined) return buffer;
    const text = value[Symbol.toPrimitive]?.("string");
    if (typeof text === "string") return fromString(text, encodingOrOffset);
  }
  const expected = ["string", "Buffer", "ArrayBuffer", "Array", "Array-like Object"];
  throw invalidArgType("first argument", expected, value);
};

Buffer.copyBytesFrom = function copyBytesFrom(view, offset = undefined, length = undefined) {
  if (!ArrayBuffer.isView(view) || view instanceof DataView) throw invalidArgType("view", "TypedArray", view);
  if (offset !== undefined) validateInteger(offset, "offset", 0);
  if (length !== undefined) validateInteger(length, "length", 0);
  const start = offset ?? 0;
  const part = view.slice(start, length === undefined ? undefined : start + length);
  return adopt(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
};

Buffer.of = function of(...items) {
  return fromArrayLike(items);
};

Buffer.alloc = function alloc(size, fill = undefined, encoding = undefined) {
  checkSize(size);
  const buffer = new FastBuffer(size);
  if (fill === undefined || fill === 0 || size === 0) return buffer;
  if (typeof fill !== "string" || encoding === undefined) return buffer.fill(fill);
  return buffer.fill(fill, 0, size, encoding);
};

Buffer.allocUnsafe = function allocUnsafe(size) {
  checkSize(size);
  return new FastBuffer(size);
};

Buffer.allocUnsafeSlow = function allocUnsafeSlow(size) {
  checkSize(size);
  return new FastBuffer(size);
};

Buffer.isBuffer = function isBuffer(value) {
  return value instanceof Buffer;
};

Buffer.isEncoding = function isEncoding(encoding) {
  return typeof encoding === "string" && encoding.toLowerCase() in encodings;
};

Buffer.compare = function compare(buf1, buf2) {
  checkBytes(buf1, "buf1");
  checkBytes(buf2, "buf2");
  return buf1 === buf2 ? 0 : host.bytesCompare(buf1, buf2);
};

Buffer.concat = function concat(list, length = undefined) {
  if (!Array.isArray(list)) throw invalidArgType("list", "Array", list);
  if (list.length === 0) return new FastBuffer();
  if (length === undefined) length = list.reduce((sum, item) => sum + (item?.length || 0), 0);
  else validateInteger(length, "length", 0, kMaxLength);
  const result = new FastBuffer(length);
  let at = 0;
  for (const [i, item] of list.entries()) {
    checkBytes(item, `list[${i}]`);
    if (at < length) result.set(item.length > length - at ? item.subarray(0, length - at) : item, at);
    at += item.length;
  }
  return result;
};

Buffer.byteLength = function byteLength(text, encoding = undefined) {
  if (typeof text !== "string") {
    if (ArrayBuffer.isView(text) || isAnyArrayBuffer(text)) return text.byteLength;
    throw invalidArgType("string", ["string", "Buffer", "ArrayBuffer"], text);
  }
  switch (encodings[`${encoding}`.toLowerCase()]) {
    case "utf16le":
      return text.length * 2;
    case "latin1":
    case "ascii":
      return text.length;
    case "hex":
      return text.length >>> 1;
    case "base64":
    case "base64url":
      return ((text.length - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0)) * 3) >>> 2;
    default:
      return host.utf8Length(text);
  }
};

// Where the search begins, or -1 if it cannot find anything.
function searchStart(length, offset, size, isForward) {
  if (offset < 0) {
    if (offset + length >= 0) return offset + length;
    return isForward || size === 0 ? 0 : -1;
  }
  if (offset + size <= length) return offset;
  if (size === 0) return length;
  return isForward ? -1 : length - 1;
}

function matchesAt(bytes, needle, at) {
  for (let i = 1; i < needle.length; i++) {
    if (bytes[at + i] !== needle[i]) return false;
  }
  return true;
}

const findByte = { true: Uint8Array.prototype.indexOf, false: Uint8Array.prototype.lastIndexOf };

function searchBytes(bytes, needle, start, isForward, unit) {
  const last = bytes.length - needle.length;
  if (last < 0 || start < 0 || needle.length < unit) return -1;
  const find = findByte[isForward];
  let at = isForward ? start : Math.min(start, last);
  while (at >= 0 && at <= last) {
    at = find.call(bytes, needle[0], at);
    if (at < 0 || at > last) return -1;
    if (at % unit === 0 && matchesAt(bytes, needle, at)) return at;
    at += isForward ? 1 : -1;
  }
  return -1;
}

function search(bytes, value, offset, encoding, isForward) {
  if (typeof offset === "string") {
    encoding = offset;
    offset = undefined;
  }
  offset = Math.trunc(+offset);
  if (Number.isNaN(offset)) offset = isForward ? 0 : bytes.length;
  let needle = value;
  let unit = 1;
  if (typeof value === "number") needle = [(value >>> 0) & 255];
  else if (typeof value === "string" || value instanceof Uint8Array) {
    const known = encoding === undefined ? "utf8" : knownEncoding(encoding);
    if (typeof value === "string") needle = encode(value, known);
    if (known === "utf16le") unit = 2;
  } else throw invalidArgType("value", ["number", "string", "Buffer", "Uint8Array"], value);
  const start = searchStart(bytes.length, offset, needle.length, isForward);
  if (needle.length === 0) return start;
  return searchBytes(bytes, needle, unit === 2 ? start & ~1 : start, isForward, unit);
}

function swap(buffer, size) {
  if (buffer.length % size !== 0) {
    const message = `Buffer size must be a multiple of ${size * 8}-bits`;
    throw codeError(RangeError, "ERR_INVALID_BUFFER_SIZE", message);
  }
  for (let i = 0; i < buffer.length; i += size) buffer.subarray(i, i + size).reverse();
  return buffer;
}

function fillBytes(value, encoding) {
  if (typeof value === "string") {
    if (value === "") return [0];
    const bytes = encode(value, encoding);
    if (bytes.length === 0) throw invalidArgValue("value", value);
    return bytes;
  }
  if (!ArrayBuffer.isView(value)) return [value & 255];
  if (value.byteLength === 0) throw invalidArgValue("value", value);
  return viewBytes(value);
}

function integer(value) {
  return Math.trunc(+value) || 0;
}

function writeText(buffer, text, offset, length, encoding) {
  if (encoding === "utf8") {
    const [bytes] = host.encodeUtf8Into(text.slice(0, length), length);
    buffer.set(bytes, offset);
    return bytes.length;
  }
  let bytes = encode(text, encoding);
  if (bytes.length > length) bytes = bytes.subarray(0, encoding === "utf16le" ? length & ~1 : length);
  buffer.set(bytes, offset);
  return bytes.length;
}

const methods = {
  copy(target, targetStart, sourceStart, sourceEnd) {
    checkBytes(target, "target");
    targetStart = integer(targetStart);
    if (targetStart < 0) throw outOfRange("targetStart", ">= 0", targetStart);
    sourceStart = integer(sourceStart);
    if (sourceStart < 0 || sourceStart > this.length) {
      throw outOfRange("sourceStart", `>= 0 && <= ${this.length}`, sourceStart);
    }
    sourceEnd = sourceEnd === undefined ? this.length : integer(sourceEnd);
    if (sourceEnd < 0) throw outOfRange("sourceEnd", ">= 0", sourceEnd);
    const count = Math.min(sourceEnd - sourceStart, this.length - sourceStart, target.length - targetStart);
    if (count <= 0) return 0;
    target.set(this.subarray(sourceStart, sourceStart + count), targetStart);
    return count;
  },

  toString(encoding = undefined, start = 0, end = undefined) {
    const known = encoding === undefined ? "utf8" : knownEncoding(encoding);
    if (arguments.length < 2) return decode(this, known);
    const from = start > 0 ? Math.trunc(start) : 0;
    const to = end === undefined || end > this.length ? this.length : integer(end);
    return to > from ? decode(this.subarray(from, to), known) : "";
  },

  equals(otherBuffer) {
    checkBytes(otherBuffer, "otherBuffer");
    if (this === otherBuffer) return true;
    return this.length === otherBuffer.length && host.bytesCompare(this, otherBuffer) === 0;
  },

  compare(target, targetStart = 0, targetEnd = undefined, sourceStart = 0, sourceEnd = undefined) {
    checkBytes(target, "target");
    validateInteger(targetStart, "targetStart", 0, kMaxLength);
    if (targetEnd === undefined) targetEnd = target.length;
    else validateInteger(targetEnd, "targetEnd", 0, target.length);
    validateInteger(sourceStart, "sourceStart", 0, kMaxLength);
    if (sourceEnd === undefined) sourceEnd = this.length;
    else validateInteger(sourceEnd, "sourceEnd", 0, this.length);
    if (sourceStart >= sourceEnd) return targetStart >= targetEnd ? 0 : -1;
    if (targetStart >= targetEnd) return 1;
    return host.bytesCompare(this.subarray(sourceStart, sourceEnd), target.subarray(targetStart, targetEnd));
  },

  indexOf(value, byteOffset = undefined, encoding = undefined) {
    return search(this, value, byteOffset, encoding, true);
  },

  lastIndexOf(value, byteOffset = undefined, encoding = undefined) {
    return search(this, value, byteOffset, encoding, false);
  },

  includes(value, byteOffset = undefined, encoding = undefined) {
    return search(this, value, byteOffset, encoding, true) !== -1;
  },

  fill(value, offset = undefined, end = undefined, encoding = undefined) {
    if (typeof value === "string") {
      if (offset === undefined || typeof offset === "string") {
        [offset, end, encoding] = [undefined, undefined, offset];
      } else if (typeof end === "string") [end, encoding] = [undefined, end];
      encoding ??= "utf8";
      validateString(encoding, "encoding");
      encoding = knownEncoding(encoding);
    }
    if (offset === undefined) offset = 0;
    else validateInteger(offset, "offset", 0, kMaxLength);
    if (end === undefined) end = this.length;
    else validateInteger(end, "end", 0, this.length);
    if (offset >= end) return this;
    const bytes = fillBytes(value, encoding);
    if (bytes.length === 1) return super.fill(bytes[0], offset, end);
    let filled = Math.min(bytes.length, end - offset);
    this.set(filled < bytes.length ? bytes.subarray(0, filled) : bytes, offset);
    for (; offset + filled < end; filled *= 2) {
      this.copyWithin(offset + filled, offset, offset + Math.min(filled, end - offset - filled));
    }
    return this;
  },

  write(text, offset = undefined, length = undefined, encoding = undefined) {
    if (typeof text !== "string") {
      throw Object.assign(new TypeError("argument must be a string"), { code: "ERR_INVALID_ARG_TYPE" });
    }
    if (offset === undefined) return writeText(this, text, 0, this.length, "utf8");
    if (length === undefined && typeof offset === "string") [offset, encoding] = [0, offset];
    validateInteger(offset, "offset", 0, this.length);
    const room = this.length - offset;
    if (typeof length === "string") [length, encoding] = [room, length];
    else if (length === undefined) length = room;
    else validateInteger(length, "length", 0, this.length);
    const known = encoding === undefined ? "utf8" : knownEncoding(encoding);
    return writeText(this, text, offset, Math.min(length, room), known);
  },

  toJSON() {
    return { type: "Buffer", data: Array.from(this) };
  },

  slice(start, end) {
    return this.subarray(start, end);
  },

  swap16() {
    return swap(this, 2);
  },

  swap32() {
    return swap(this, 4);
  },

  swap64() {
    return swap(this, 8);
  },

  inspect(_depth, options) {
    const { inspect } = require("internal/inspect");
    let bytes = host.bytesToText(this.subarray(0, maxShown), "hex").replace(/..(?!$)/g, "$& ");
    const hidden = this.length - maxShown;
    if (hidden > 0) bytes += ` ... ${hidden} more byte${hidden > 1 ? "s" : ""}`;
    const items = bytes === "" ? [] : [bytes];
    if (options && this.length <= MAX_SHOWN_WITH_PROPERTIES) {
      for (const key of Object.keys(this).slice(this.length)) {
        items.push(`${key}: ${inspect(this[key], { ...options, breakLength: Infinity, compact: true })}`);
      }
    }
    return `<${this.constructor.name} ${items.join(", ")}>`;
  },

  get parent() {
    return this instanceof Buffer ? this.buffer : undefined;
  },

  get offset() {
    return this instanceof Buffer ? this.byteOffset : undefined;
  },
};

// For `super` in them.
Object.setPrototypeOf(methods, Uint8Array.prototype);
for (const name of ["ascii", "base64", "base64url", "latin1", "hex", "ucs2", "utf8"]) {
  methods[`${name}Slice`] = function (start = 0, end = this.length) {
    return this.toString(name, start, end);
  };
  methods[`${name}Write`] = function (text, offset = 0, length = this.length - offset) {
    return this.write(text, offset, length, name);
  };
}
methods.toLocaleString = methods.toString;
methods[Symbol.for("nodejs.util.inspect.custom")] = methods.inspect;
require("internal/buffer_numbers").install(methods);
Object.defineProperties(Buffer.prototype, Object.getOwnPropertyDescriptors(methods));

function SlowBuffer(size) {
  return Buffer.allocUnsafeSlow(size);
}

function judge(input, encoding) {
  if ((input?.buffer ?? input)?.detached) {
    throw codeError(Error, "ERR_INVALID_STATE", "Invalid state: Cannot validate on a detached buffer");
  }
  if (ArrayBuffer.isView(input)) return host.bytesAre(viewBytes(input), encoding);
  if (isAnyArrayBuffer(input)) return host.bytesAre(new Uint8Array(input), encoding);
  throw invalidArgType("input", ["ArrayBuffer", "Buffer", "TypedArray"], input);
}

module.exports = {
  Buffer,
  get INSPECT_MAX_BYTES() {
    return maxShown;
  },
  set INSPECT_MAX_BYTES(value) {
    validateNumber(value, "INSPECT_MAX_BYTES", 0);
    maxShown = value;
  },
  SlowBuffer,
  get Blob() {
    return require("internal/blob").Blob;
  },
  get File() {
    return require("internal/blob").File;
  },
  get atob() {
    return require("internal/base64").atob;
  },
  get btoa() {
    return require("internal/base64").btoa;
  },
  constants: { MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: kStringMaxLength },
  isAscii: (input) => judge(input, "ascii"),
  isUtf8: (input) => judge(input, "utf8"),
  kMaxLength,
  kStringMaxLength,
};

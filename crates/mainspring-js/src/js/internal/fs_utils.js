"use strict";

const {
  codeError, invalidArgType, invalidArgValue, validateAbortSignal, validateInteger,
} = require("internal/errors");

const constants = Object.freeze(Object.assign(Object.create(null), host.fsConstants()));

const { O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_SYNC, O_TRUNC, O_WRONLY, S_IFMT } = constants;

function toPath(value, name = "path") {
  let path = value;
  if (path?.href !== undefined && path.protocol !== undefined) path = require("url").fileURLToPath(path);
  if (typeof path !== "string" && !(path instanceof Uint8Array)) {
    throw invalidArgType(name, ["string", "Buffer", "URL"], path);
  }
  if (typeof path === "string" ? path.includes("\0") : path.includes(0)) {
    throw invalidArgValue(name, path, "must be a string, Uint8Array, or URL without null bytes");
  }
  return path;
}

// A path, or the number of a file that is open.
function toFile(value) {
  if (!Number.isInteger(value)) return toPath(value);
  validateInteger(value, "fd", 0, 2147483647);
  return value;
}

const baseFlags = {
  r: O_RDONLY,
  "r+": O_RDWR,
  w: O_TRUNC | O_CREAT | O_WRONLY,
  "w+": O_TRUNC | O_CREAT | O_RDWR,
  a: O_APPEND | O_CREAT | O_WRONLY,
  "a+": O_APPEND | O_CREAT | O_RDWR,
};

// `r`, `w` or `a`, perhaps with `+`; `s` stands for synchronous, and `x` for exclusive.
function toFlags(value) {
  if (value == null) return O_RDONLY;
  if (typeof value === "number") {
    validateInteger(value, "flags", -2147483648, 2147483647);
    return value;
  }
  if (typeof value === "string" && /^(?:s?r|rs|s?a|as|x?[wa]|[wa]x)\+?$/.test(value)) {
    const base = baseFlags[value.replace(/[sx]/, "")];
    return base | (value.includes("x") ? O_EXCL : 0) | (value.includes("s") ? O_SYNC : 0);
  }
  throw invalidArgValue("flags", value);
}

function toMode(value, name, fallback) {
  if (value == null && fallback !== undefined) return fallback;
  if (typeof value === "string") {
    if (!/^[0-7]+$/.test(value)) {
      throw invalidArgValue(name, value, "must be a 32-bit unsigned integer or an octal string");
    }
    return parseInt(value, 8);
  }
  validateInteger(value, name, 0, 4294967295);
  return value;
}

// Options as an object; a string is an encoding.
function toOptions(value, defaults) {
  if (value == null || typeof value === "function") return defaults;
  let options = value;
  if (typeof value === "string") options = { ...defaults, encoding: value };
  else if (typeof value !== "object") throw invalidArgType("options", ["string", "Object"], value);
  const { encoding } = options;
  if (encoding && encoding !== "buffer" && !require("buffer").Buffer.isEncoding(encoding)) {
    throw invalidArgValue("encoding", encoding, "is invalid encoding");
  }
  if (options.signal !== undefined) validateAbortSignal(options.signal, "options.signal");
  return options;
}

function isUtf8(encoding) {
  return !encoding || /^utf-?8$/i.test(encoding);
}

// Bytes of the host are nobody else's.
function toBuffer(bytes) {
  return Object.setPrototypeOf(bytes, require("buffer").Buffer.prototype);
}

// Bytes of a path, as the encoding wants it.
function fromPath(bytes, encoding) {
  const buffer = toBuffer(bytes);
  return encoding === "buffer" ? buffer : buffer.toString(encoding || "utf8");
}

// What is to be written, as the host takes it.
function toData(data, encoding) {
  if (typeof data === "string") {
    return isUtf8(encoding) ? data : require("buffer").Buffer.from(data, encoding);
  }
  if (data instanceof Uint8Array) return data;
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw invalidArgType("data", ["string", "Buffer", "TypedArray", "DataView"], data);
}

// In seconds.
function toTime(value, name = "time") {
  if (typeof value === "string" && +value == value) return +value;
  if (Number.isFinite(value)) return value < 0 ? Date.now() / 1000 : value;
  if (value instanceof Date) return value.getTime() / 1000;
  throw invalidArgType(name, ["Date", "Time in seconds"], value);
}

class Stats {
  constructor(
    dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks, atimeMs, mtimeMs, ctimeMs, birthtimeMs,
  ) {
    Object.assign(this, {
      dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks, atimeMs, mtimeMs, ctimeMs, birthtimeMs,
      atime: new Date(Math.round(atimeMs)),
      mtime: new Date(Math.round(mtimeMs)),
      ctime: new Date(Math.round(ctimeMs)),
      birthtime: new Date(Math.round(birthtimeMs)),
    });
  }
}

const kType = Symbol("type");

class Dirent {
  constructor(name, type, path) {
    this.name = name;
    this.parentPath = path;
    this.path = path;
    this[kType] = type;
  }
}

for (const [method, mode, type] of [
  ["isDirectory", constants.S_IFDIR, constants.UV_DIRENT_DIR],
  ["isFile", constants.S_IFREG, constants.UV_DIRENT_FILE],
  ["isBlockDevice", constants.S_IFBLK, constants.UV_DIRENT_BLOCK],
  ["isCharacterDevice", constants.S_IFCHR, constants.UV_DIRENT_CHAR],
  ["isSymbolicLink", constants.S_IFLNK, constants.UV_DIRENT_LINK],
  ["isFIFO", constants.S_IFIFO, constants.UV_DIRENT_FIFO],
  ["isSocket", constants.S_IFSOCK, constants.UV_DIRENT_SOCKET],
]) {
  const define = (Class, value) =>
    Object.defineProperty(Class.prototype, method, { value, writable: true, configurable: true });
  define(Stats, { [method]() { return (this.mode & S_IFMT) === mode; } }[method]);
  define(Dirent, { [method]() { return this[kType] === type; } }[method]);
}

function notImplemented(name, advice) {
  return codeError(
    Error, "ERR_METHOD_NOT_IMPLEMENTED", `The ${name} method is not implemented: ${advice}`,
  );
}

module.exports = {
  Dirent, Stats, constants, fromPath, isUtf8, notImplemented, toBuffer, toData, toFile, toFlags, toMode,
  toOptions, toPath, toTime,
};

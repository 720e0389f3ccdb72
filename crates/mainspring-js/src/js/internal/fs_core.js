"use strict";

// What the three styles of `fs` have in common. An operation takes the arguments of the script, checks them,
// and gives what the host needs: the name of its operation, the arguments of that, and what to make of the
// result; and a signal that ends the wait.

const {
  AbortError, codeError, invalidArgType, outOfRange, validateBoolean, validateInteger, validateObject,
} = require("internal/errors");
const {
  Dirent, Stats, fromPath, isUtf8, notImplemented, toBuffer, toData, toFile, toFlags, toMode, toOptions,
  toPath, toTime,
} = require("internal/fs_utils");

function statsOf(numbers) {
  return new Stats(...numbers);
}

function stat(follow) {
  return (path, options) => {
    const wanted = toOptions(options, {});
    if (wanted.bigint) throw notImplemented("stat with bigint", "its numbers are doubles");
    return ["fsStat", [toPath(path), follow], statsOf];
  };
}

function onePath(op, name) {
  return (path) => [op, [toPath(path, name)]];
}

function twoPaths(op, first, second) {
  return (from, to) => [op, [toPath(from, first), toPath(to, second)]];
}

// The entries come as triples: the directory, seen from the path; the name; and the type.
function readdir(newestFirst) {
  return (path, options) => {
    const { encoding, withFileTypes, recursive } = toOptions(options, {});
    if (recursive != null) validateBoolean(recursive, "options.recursive");
    const root = toPath(path);
    const plain = isUtf8(encoding);
    let parentOf = () => root;
    if (recursive) {
      if (typeof root !== "string") throw invalidArgType("path", "string", root);
      const { join } = require("path");
      parentOf = (below) => (below === "" ? root : join(root, below));
    }
    const decode = plain ? (name) => name : (bytes) => fromPath(bytes, encoding);
    const convert = (flat) => {
      const list = [];
      for (let i = 0; i < flat.length; i += 3) {
        const name = decode(flat[i + 1]);
        if (withFileTypes) list.push(new Dirent(name, flat[i + 2], parentOf(decode(flat[i]))));
        else if (recursive && plain && flat[i] !== "") list.push(`${flat[i]}/${name}`);
        else list.push(name);
      }
      return list;
    };
    return ["fsReadDir", [root, !plain, recursive ?? false, newestFirst, !withFileTypes], convert];
  };
}

function writeFile(flag) {
  return (path, data, options) => {
    const wanted = { flag, ...toOptions(options, {}) };
    const { encoding, mode, flush, signal } = wanted;
    if (flush != null) validateBoolean(flush, "options.flush");
    const native = [
      toFile(path), toData(data, encoding), toFlags(wanted.flag), toMode(mode, "mode", 0o666), flush ?? false,
    ];
    return ["fsWriteFile", native, undefined, signal];
  };
}

function validFd(fd) {
  validateInteger(fd, "fd", 0, 2147483647);
  return fd;
}

function onFd(op, convert) {
  return (fd) => [op, [validFd(fd)], convert];
}

// Where in a buffer to read to or write from, and where in the file.
function part(buffer, offset, length, position) {
  if (!ArrayBuffer.isView(buffer)) {
    throw invalidArgType("buffer", ["Buffer", "TypedArray", "DataView"], buffer);
  }
  const options = offset !== null && typeof offset === "object" ? offset : { offset, length, position };
  const start = options.offset ?? 0;
  validateInteger(start, "offset", 0);
  const count = options.length ?? buffer.byteLength - start;
  if (start > buffer.byteLength) throw outOfRange("offset", `<= ${buffer.byteLength}`, start);
  if (count < 0 || count > buffer.byteLength - start) {
    throw outOfRange("length", count < 0 ? ">= 0" : `<= ${buffer.byteLength - start}`, count);
  }
  const at = options.position == null ? undefined : Number(options.position);
  return [new Uint8Array(buffer.buffer, buffer.byteOffset + start, count), at];
}

// A mode of three bits. These errors of Node show no code in their stack.
function smallMode(mode) {
  const wanted = mode ?? 0;
  const fail = (error, code) => {
    throw Object.assign(error, { code });
  };
  if (typeof wanted !== "number") {
    fail(new TypeError("mode must be int32 or null/undefined"), "ERR_INVALID_ARG_TYPE");
  }
  if (wanted < 0 || wanted > 7) fail(new RangeError("mode is out of range: >= 0 && <= 7"), "ERR_OUT_OF_RANGE");
  return wanted;
}

const operations = {
  access: (path, mode) => ["fsAccess", [toPath(path), smallMode(mode)]],
  appendFile: writeFile("a"),
  chmod: (path, mode) => ["fsChmod", [toPath(path), toMode(mode, "mode")]],
  close: onFd("fsClose"),
  copyFile: (from, to, mode) =>
    ["fsCopyFile", [toPath(from, "src"), toPath(to, "dest"), smallMode(mode)]],
  fdatasync: onFd("fsFsync"),
  fstat: onFd("fsFstat", statsOf),
  fsync: onFd("fsFsync"),
  ftruncate(fd, length = 0) {
    validateInteger(length, "len");
    return ["fsFtruncate", [validFd(fd), Math.max(0, length)]];
  },
  link: twoPaths("fsLink", "existingPath", "newPath"),
  lstat: stat(false),
  mkdir(path, options) {
    const { recursive = false, mode } = options !== null && typeof options === "object"
      ? options : { mode: options };
    const file = toPath(path);
    validateBoolean(recursive, "options.recursive");
    return ["fsMkdir", [file, toMode(mode, "mode", 0o777), recursive]];
  },
  mkdtemp(prefix, options) {
    const { encoding } = toOptions(options, {});
    return ["fsMkdtemp", [toPath(prefix, "prefix")], (bytes) => fromPath(bytes, encoding)];
  },
  open: (path, flags = "r", mode = 0o666) =>
    ["fsOpen", [toPath(path), toFlags(flags), toMode(mode, "mode", 0o666)]],
  read(fd, buffer, offset, length, position) {
    const [target, at] = part(buffer, offset, length, position);
    const convert = (bytes) => {
      target.set(bytes);
      return bytes.length;
    };
    return ["fsRead", [validFd(fd), target.length, at], convert];
  },
  readdir: readdir(false),
  readFile(path, options) {
    const { encoding, flag, signal } = toOptions(options, {});
    const asText = encoding != null && isUtf8(encoding);
    const convert = asText ? undefined : (bytes) => (encoding ? fromPath(bytes, encoding) : toBuffer(bytes));
    return ["fsReadFile", [toFile(path), toFlags(flag), asText], convert, signal];
  },
  readlink(path, options) {
    const { encoding } = toOptions(options, {});
    return ["fsReadlink", [toPath(path, "oldPath")], (bytes) => fromPath(bytes, encoding)];
  },
  realpath(path, options, stepwise = false) {
    const { encoding } = toOptions(options, {});
    return ["fsRealpath", [toPath(path), stepwise], (bytes) => fromPath(bytes, encoding)];
  },
  rename: twoPaths("fsRename", "oldPath", "newPath"),
  rm(path, options) {
    const file = toPath(path);
    if (options !== undefined) validateObject(options, "options");
    const { recursive = false, force = false, maxRetries = 0, retryDelay = 100 } = options ?? {};
    validateBoolean(force, "options.force");
    validateBoolean(recursive, "options.recursive");
    validateInteger(retryDelay, "options.retryDelay", 0, 2147483647);
    validateInteger(maxRetries, "options.maxRetries", 0, 4294967295);
    const convert = (done) => {
      if (!done) throw directoryError(file);
    };
    return ["fsRm", [file, recursive, force, maxRetries, retryDelay], convert];
  },
  rmdir: onePath("fsRmdir"),
  stat: stat(true),
  symlink(target, path, type) {
    if (type != null && !["dir", "file", "junction"].includes(type)) {
      const message = `Symlink type must be one of "dir", "file", or "junction". Received "${type}"`;
      throw codeError(Error, "ERR_FS_INVALID_SYMLINK_TYPE", message);
    }
    return ["fsSymlink", [toPath(target, "target"), toPath(path)]];
  },
  truncate(path, length = 0) {
    const file = toPath(path);
    validateInteger(length ?? 0, "len");
    return ["fsTruncate", [file, Math.max(0, length ?? 0)]];
  },
  unlink: onePath("fsUnlink"),
  utimes: (path, atime, mtime) => ["fsUtimes", [toPath(path), toTime(atime), toTime(mtime)]],
  write(fd, data, offset, length, position) {
    if (typeof data === "string") {
      // Then they are a position and an encoding.
      return ["fsWrite", [validFd(fd), toData(data, length), offset == null ? undefined : Number(offset)]];
    }
    return ["fsWrite", [validFd(fd), ...part(data, offset, length, position)]];
  },
  writeFile: writeFile("w"),
};

class SystemError extends Error {
  get name() {
    return "SystemError";
  }
}

function directoryError(path) {
  const info = { code: "EISDIR", message: "is a directory", path: String(path), syscall: "rm", errno: 21 };
  const message = `Path is a directory: rm returned EISDIR (is a directory) ${path}`;
  const { errno, syscall } = info;
  return codeError(SystemError, "ERR_FS_EISDIR", message, { info, errno, syscall, path: info.path });
}

function runSync([op, native, convert]) {
  const value = host[op](...native);
  return convert ? convert(value) : value;
}

// Calls `done(error, value)` later, or at once if the signal is aborted already.
function run([op, native, convert, signal], done) {
  if (signal?.aborted) {
    done(new AbortError(undefined, { cause: signal.reason }));
    return;
  }
  let isOver = false;
  const onAbort = () => finish(new AbortError(undefined, { cause: signal.reason }));
  const finish = (error, value) => {
    if (isOver) return;
    isOver = true;
    signal?.removeEventListener("abort", onAbort);
    if (error) {
      done(error);
      return;
    }
    let result = value;
    if (convert) {
      try {
        result = convert(value);
      } catch (failure) {
        done(failure);
        return;
      }
    }
    done(null, result);
  };
  signal?.addEventListener("abort", onAbort);
  host[op](...native, finish);
}

function runPromise(prepared) {
  return new Promise((resolve, reject) => {
    run(prepared, (error, value) => (error ? reject(error) : resolve(value)));
  });
}

module.exports = { operations, readdir, run, runPromise, runSync };

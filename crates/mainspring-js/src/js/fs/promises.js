"use strict";

const { operations, readdir, runPromise } = require("internal/fs_core");
const { constants, notImplemented } = require("internal/fs_utils");

const promises = module.exports;

function define(name, value) {
  Object.defineProperty(value, "name", { value: name, configurable: true });
  promises[name] = value;
}

for (const name of [
  "access", "chmod", "copyFile", "link", "lstat", "mkdir", "mkdtemp", "readlink", "realpath", "rename", "rm",
  "rmdir", "stat", "symlink", "truncate", "unlink", "utimes",
]) {
  define(name, async (...args) => runPromise(operations[name](...args)));
}

// Directories that were found last are read first.
const prepareReaddir = readdir(true);
define("readdir", async (path, options) => runPromise(prepareReaddir(path, options)));

// A handle stands for its file.
function toFile(value) {
  if (typeof value !== "object" || value === null || !("fd" in value)) {
    // Unlike the other styles, this one takes no numbers.
    require("internal/fs_utils").toPath(value);
    return value;
  }
  return value.fd;
}

define("readFile", async (path, options) => runPromise(operations.readFile(toFile(path), options)));

for (const name of ["writeFile", "appendFile"]) {
  define(name, async (path, data, options) => {
    const isPlain = typeof data !== "object" || data === null || ArrayBuffer.isView(data);
    const isIterable = !isPlain && (data[Symbol.asyncIterator] ?? data[Symbol.iterator]);
    const whole = isIterable ? await collect(data, options) : data;
    await runPromise(operations[name](toFile(path), whole, options));
  });
}

async function collect(pieces, options) {
  const { Buffer } = require("buffer");
  const { toData, toOptions } = require("internal/fs_utils");
  const { encoding } = toOptions(options, {});
  const list = [];
  for await (const piece of pieces) list.push(Buffer.from(toData(piece, encoding)));
  return Buffer.concat(list);
}

define("open", async (path, flags, mode) => {
  const fd = await runPromise(operations.open(path, flags, mode));
  const { FileHandle } = require("internal/fs_handle");
  return new FileHandle(fd);
});

for (const name of ["opendir", "watch"]) {
  define(name, () => {
    throw notImplemented(`fs.promises.${name}()`, "there are no streams and watchers; use readdir");
  });
}

promises.constants = constants;

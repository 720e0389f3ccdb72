"use strict";

const { invalidArgType, validateFunction } = require("internal/errors");
const { operations, run, runSync } = require("internal/fs_core");
const { Dirent, Stats, constants, notImplemented } = require("internal/fs_utils");

const fs = module.exports;

function define(name, value) {
  Object.defineProperty(value, "name", { value: name, configurable: true });
  fs[name] = value;
}

// The two styles of an operation: with a callback as the last argument, and synchronous.
function both(name, prepare) {
  define(name, (...args) => {
    const callback = args.at(-1);
    if (typeof callback !== "function") throw invalidArgType("cb", "function", args[prepare.length]);
    run(prepare(...args.slice(0, -1)), (error, value) => {
      if (error) callback(error);
      else if (value === undefined) callback(null);
      else callback(null, value);
    });
  });
  define(`${name}Sync`, (...args) => runSync(prepare(...args)));
}

for (const name in operations) both(name, operations[name]);

// A file that is not there is no error if the options say so.
for (const name of ["stat", "lstat"]) {
  define(`${name}Sync`, (path, options) => {
    try {
      return runSync(operations[name](path, options));
    } catch (error) {
      const isMissing = error.code === "ENOENT" || error.code === "ENOTDIR";
      if (isMissing && options?.throwIfNoEntry === false) return undefined;
      throw error;
    }
  });
}

// These tell the callback of the buffer, too.
for (const name of ["read", "write"]) {
  define(name, (fd, buffer, ...rest) => {
    const callback = rest.pop();
    validateFunction(callback, "cb");
    run(operations[name](fd, buffer, ...rest), (error, count) => {
      if (error) callback(error);
      else callback(null, count, buffer);
    });
  });
}

both("realpath", (path, options) => operations.realpath(path, options, true));
fs.realpath.native = fs.realpath;
fs.realpathSync.native = fs.realpathSync;

define("exists", (path, callback) => {
  validateFunction(callback, "cb");
  let prepared;
  try {
    prepared = operations.access(path);
  } catch {
    callback(false);
    return;
  }
  run(prepared, (error) => callback(!error));
});

define("existsSync", (path) => {
  try {
    runSync(operations.access(path));
    return true;
  } catch {
    return false;
  }
});

for (const name of [
  "createReadStream", "createWriteStream", "opendir", "opendirSync", "watch", "watchFile", "unwatchFile",
]) {
  define(name, () => {
    throw notImplemented(`fs.${name}()`, "there are no streams and watchers; use the promises of node:fs");
  });
}

Object.assign(fs, { Dirent, Stats, constants });
for (const name of ["F_OK", "R_OK", "W_OK", "X_OK"]) fs[name] = constants[name];
Object.defineProperty(fs, "promises", {
  configurable: true,
  enumerable: true,
  get: () => require("fs/promises"),
});

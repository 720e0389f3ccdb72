"use strict";

// The members of `process` that few scripts use.

const {
  codeError, invalidArgType, invalidArgValue, outOfRange, validateInteger, validateObject, validateString,
} = require("internal/errors");
const { status } = require("internal/process");

function versions(node) {
  const { mainspring, engine, engineVersion } = host.version();
  return Object.freeze({ node, mainspring, [engine]: engineVersion });
}

function hrtime(time) {
  const now = host.hrtime();
  const seconds = Number(now / 1000000000n);
  const nanoseconds = Number(now % 1000000000n);
  if (time === undefined) return [seconds, nanoseconds];
  if (!Array.isArray(time)) throw invalidArgType("time", "Array", time);
  if (time.length !== 2) throw outOfRange("time", 2, time.length);
  const since = [seconds - time[0], nanoseconds - time[1]];
  return since[1] < 0 ? [since[0] - 1, since[1] + 1e9] : since;
}
hrtime.bigint = function hrtimeBigInt() {
  return host.hrtime();
};

function validateExitCode(code) {
  const isNumeral = typeof code === "string" && code !== "" && !Number.isNaN(Number(code));
  validateInteger(isNumeral ? Number(code) : code, "code");
}

function memoryUsage() {
  return { rss: host.rss(), external: 0, arrayBuffers: 0, ...host.memoryUsage() };
}
memoryUsage.rss = function rss() {
  return host.rss();
};

function validateCpuTime(time, name) {
  if (typeof time !== "number") throw invalidArgType(name, "number", time);
  if (!(time >= 0 && time <= Number.MAX_SAFE_INTEGER)) {
    const message = `The property '${name}' is invalid. Received ${time}`;
    throw codeError(RangeError, "ERR_INVALID_ARG_VALUE", message);
  }
}

function toMask(mask) {
  if (mask === undefined) return undefined;
  if (typeof mask === "string") {
    if (!/^[0-7]+$/.test(mask)) {
      throw invalidArgValue("mask", mask, "must be a 32-bit unsigned integer or an octal string");
    }
    mask = Number.parseInt(mask, 8);
  }
  validateInteger(mask, "mask", 0, 2 ** 32 - 1);
  return mask;
}

const members = {
  hrtime,
  memoryUsage,
  argv0: "mainspring",
  config: Object.freeze({ target_defaults: Object.freeze({}), variables: Object.freeze({}) }),
  features: Object.freeze({ inspector: false, debug: false, uv: false, ipv6: true, tls: false }),
  release: { name: "node" },

  abort: () => host.abort(),

  chdir(directory) {
    validateString(directory, "directory");
    host.chdir(directory);
  },

  umask(mask) {
    return host.umask(toMask(mask));
  },

  kill(pid, sig) {
    // eslint-disable-next-line eqeqeq -- "1" is as good as 1 for Node.
    if (pid != (pid | 0)) throw invalidArgType("pid", "number", pid);
    const number = typeof sig === "number" ? sig : require("internal/signals").number(sig || "SIGTERM");
    if (number === undefined) throw codeError(TypeError, "ERR_UNKNOWN_SIGNAL", `Unknown signal: ${sig}`);
    // Scripts may have replaced it.
    status.object._kill(pid | 0, number);
    return true;
  },

  _kill(pid, number) {
    host.kill(pid, number);
  },

  // In microseconds: all of it, or since an earlier result.
  cpuUsage(before) {
    const [user, system] = host.cpuUsage();
    if (!before) return { user, system };
    validateObject(before, "prevValue");
    validateCpuTime(before.user, "prevValue.user");
    validateCpuTime(before.system, "prevValue.system");
    return { user: user - before.user, system: system - before.system };
  },

  getuid: () => host.userIds()[0],
  geteuid: () => host.userIds()[1],
  getgid: () => host.userIds()[2],
  getegid: () => host.userIds()[3],

  getBuiltinModule(id) {
    validateString(id, "id");
    return require("module").isBuiltin(id) ? require(id.replace(/^node:/, "")) : undefined;
  },

  setUncaughtExceptionCaptureCallback(fn) {
    if (fn !== null && typeof fn !== "function") throw invalidArgType("fn", ["Function", "null"], fn);
    if (fn !== null && status.capture !== null) {
      throw codeError(
        Error,
        "ERR_UNCAUGHT_EXCEPTION_CAPTURE_ALREADY_SET",
        "`process.setupUncaughtExceptionCapture()` was called while a capture callback was already active",
      );
    }
    status.capture = fn;
  },

  hasUncaughtExceptionCaptureCallback() {
    return status.capture !== null;
  },
};

module.exports = { members, validateExitCode, versions };

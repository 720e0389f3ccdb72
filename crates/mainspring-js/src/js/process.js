"use strict";

const { lazyEmitter } = require("internal/lazy_emitter");
const { emit, status } = require("internal/process");
const { nextTick } = require("internal/task_queues");

const { mainspring, engine, engineVersion } = host.version();
const node = "20.0.0";

function constant(value) {
  return { value, writable: false, enumerable: true, configurable: true };
}

function validateExitCode(code) {
  if (code === null || code === undefined) return;
  const { validateInteger } = require("internal/errors");
  validateInteger(typeof code === "string" && code !== "" && !Number.isNaN(Number(code)) ? Number(code) : code, "code");
}

const prototype = function process() {}.prototype;
const process = Object.create(prototype, {
  [Symbol.toStringTag]: { value: "process", configurable: true },
  version: constant(`v${node}`),
  versions: constant(Object.freeze({ node, mainspring, [engine]: engineVersion })),
  arch: constant(host.arch()),
  platform: constant(host.platform()),
  release: constant({ name: "node" }),
  pid: constant(host.pid()),
  _exiting: {
    get: () => status.exiting,
    set(value) {
      status.exiting = value;
    },
    enumerable: true,
    configurable: true,
  },
  exitCode: {
    get: () => status.exitCode,
    set(code) {
      validateExitCode(code);
      status.exitCode = code;
    },
    enumerable: true,
  },
});
status.object = process;

function bigint() {
  return host.hrtime();
}

function hrtime(time) {
  const now = host.hrtime();
  const seconds = Number(now / 1000000000n);
  const nanoseconds = Number(now % 1000000000n);
  if (time === undefined) return [seconds, nanoseconds];
  if (!Array.isArray(time)) throw require("internal/errors").invalidArgType("time", "Array", time);
  if (time.length !== 2) throw require("internal/errors").outOfRange("time", 2, time.length);
  const since = [seconds - time[0], nanoseconds - time[1]];
  return since[1] < 0 ? [since[0] - 1, since[1] + 1e9] : since;
}
hrtime.bigint = bigint;

function memoryUsage() {
  return host.memoryUsage();
}
memoryUsage.rss = function rss() {
  return host.memoryUsage().rss;
};

Object.assign(process, {
  title: "mainspring",
  nextTick,
  hrtime,
  memoryUsage,

  uptime() {
    return host.uptime();
  },

  cwd() {
    return host.cwd();
  },

  chdir(directory) {
    require("internal/errors").validateString(directory, "directory");
    host.chdir(directory);
  },

  emitWarning(warning, type, code, ctor) {
    require("internal/warning").emitWarning(warning, type, code, ctor);
  },

  exit(code) {
    if (arguments.length > 0) process.exitCode = code;
    if (!status.exiting) {
      status.exiting = true;
      emit("exit", Number(status.exitCode) || 0);
    }
    // Scripts may have replaced it.
    process.reallyExit(status.exitCode || 0);
  },

  reallyExit(code) {
    host.exit(Number(code) || 0);
  },

  setUncaughtExceptionCaptureCallback(fn) {
    const { codeError, invalidArgType } = require("internal/errors");
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

  getBuiltinModule(id) {
    require("internal/errors").validateString(id, "id");
    return require("module").isBuiltin(id) ? require(id.replace(/^node:/, "")) : undefined;
  },
});

// Properties whose value is made when it is first asked for.
const lazies = {
  argv: () => [host.execPath(), ...host.argv()],
  argv0: () => "mainspring",
  config: () => Object.freeze({ target_defaults: Object.freeze({}), variables: Object.freeze({}) }),
  env: () => require("internal/env").open(host.env()),
  execArgv: () => host.execArgv(),
  execPath: () => host.execPath(),
  features: () => Object.freeze({ inspector: false, debug: false, uv: false, ipv6: true, tls: false }),
  ppid: () => host.ppid(),
  stderr: () => require("internal/stdio").stderr,
  stdin: () => require("internal/stdin"),
  stdout: () => require("internal/stdio").stdout,
};
for (const [name, make] of Object.entries(lazies)) {
  const define = (value) => {
    Object.defineProperty(process, name, { value, writable: true, enumerable: true, configurable: true });
    return value;
  };
  Object.defineProperty(process, name, { get: () => define(make()), set: define, enumerable: true, configurable: true });
}

lazyEmitter(prototype, () => process.on("warning", require("internal/warning").onWarning));

module.exports = process;

"use strict";

const { lazyEmitter } = require("internal/lazy_emitter");
const { emit, status } = require("internal/process");
const { nextTick } = require("internal/task_queues");

// What scripts that look for features of Node are told.
const NODE = "20.0.0";

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
hrtime.bigint = function hrtimeBigInt() {
  return host.hrtime();
};

function validateExitCode(code) {
  if (code === null || code === undefined) return;
  const isNumeral = typeof code === "string" && code !== "" && !Number.isNaN(Number(code));
  require("internal/errors").validateInteger(isNumeral ? Number(code) : code, "code");
}

const prototype = function process() {}.prototype;
const process = Object.assign(Object.create(prototype), {
  title: "mainspring",
  nextTick,
  hrtime,

  cwd() {
    return host.cwd();
  },

  uptime() {
    return host.uptime();
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
});

// An accessor until it is first asked for, then a value.
function lazy(name, make, writable = true) {
  const define = (value) => {
    Object.defineProperty(process, name, { value, writable, enumerable: true, configurable: true });
    return value;
  };
  const get = () => define(make());
  const set = writable ? define : undefined;
  Object.defineProperty(process, name, { get, set, enumerable: true, configurable: true });
}

lazy("argv", () => [host.execPath(), ...host.argv()]);
lazy("emitWarning", () => require("internal/warning").emitWarning);
lazy("env", () => require("internal/env").open(host.env()));
lazy("execArgv", () => host.execArgv());
lazy("execPath", () => host.execPath());
lazy("ppid", () => host.ppid());
lazy("stdin", () => require("internal/stdin").stdin);
lazy("stdout", () => require("internal/stdio").stdout);
lazy("stderr", () => require("internal/stdio").stderr);
lazy("arch", () => host.arch(), false);
lazy("pid", () => host.pid(), false);
lazy("platform", () => host.platform(), false);
lazy("version", () => `v${NODE}`, false);
lazy("versions", () => require("internal/process_methods").versions(NODE), false);
for (const name of [
  "_kill", "abort", "argv0", "chdir", "config", "cpuUsage", "features", "getBuiltinModule", "getegid",
  "geteuid", "getgid", "getuid", "hasUncaughtExceptionCaptureCallback", "kill", "memoryUsage", "release",
  "setUncaughtExceptionCaptureCallback", "umask",
]) {
  lazy(name, () => require("internal/process_methods").members[name]);
}

Object.defineProperties(process, {
  [Symbol.toStringTag]: { value: "process", configurable: true },
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

lazyEmitter(prototype, () => {
  const { start } = require("internal/signals");
  process.on("newListener", start);
  process.on("warning", require("internal/warning").onWarning);
});

module.exports = process;

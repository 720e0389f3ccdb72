"use strict";

const { lazyEmitter } = require("internal/lazy_emitter");
const { emit, status } = require("internal/process");
const { nextTick } = require("internal/task_queues");

// What scripts that look for features of Node are told.
const NODE = "20.0.0";

const prototype = function process() {}.prototype;
const process = Object.assign(Object.create(prototype), {
  title: "mainspring",
  nextTick,

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
  "geteuid", "getgid", "getuid", "hasUncaughtExceptionCaptureCallback", "hrtime", "kill", "memoryUsage",
  "release", "setUncaughtExceptionCaptureCallback", "umask",
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
      if (code !== undefined && code !== null) require("internal/process_methods").validateExitCode(code);
      status.exitCode = code;
    },
    enumerable: true,
  },
});
status.object = process;

function startListeningIfSignal(event) {
  if (typeof event === "string" && event.startsWith("SIG")) require("internal/signals").start(event);
}

function onWarning(warning) {
  require("internal/warning").onWarning(warning);
}

lazyEmitter(prototype, () => {
  process.on("newListener", startListeningIfSignal);
  process.on("warning", onWarning);
});

module.exports = process;

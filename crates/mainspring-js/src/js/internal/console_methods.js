"use strict";

// The methods of a console that few scripts call. `this` is the console, `to` what it writes to.

function warn(message) {
  require("internal/warning").emitWarning(message);
}

function pad(number) {
  return String(number).padStart(2, "0");
}

function formatTime(ms) {
  if (ms < 1000) return `${Number(ms.toFixed(3))}ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(3)}s`;
  const whole = Math.floor(seconds / 60);
  const rest = (seconds % 60).toFixed(3).padStart(6, "0");
  if (whole < 60) return `${whole}:${rest} (m:ss.mmm)`;
  return `${Math.floor(whole / 60)}:${pad(whole % 60)}:${rest} (h:mm:ss.mmm)`;
}

// Logs the time since `time(label)`. False if there was none.
function logTime(console, to, method, label, data) {
  const start = to.times?.get(label);
  if (start === undefined) {
    warn(`No such label '${label}' for console.${method}()`);
    return false;
  }
  console.log("%s: %s", label, formatTime(host.now() - start), ...data);
  return true;
}

module.exports = {
  dir(to, object, options) {
    const { inspect } = require("internal/inspect");
    const text = inspect(object, { customInspect: false, ...to.inspectOptions(false), ...options });
    const lines = to.indent + text.replaceAll("\n", `\n${to.indent}`);
    to.write(false, `${lines}\n`);
  },

  time(to, label = "default") {
    label = `${label}`;
    to.times ??= new Map();
    if (to.times.has(label)) warn(`Label '${label}' already exists for console.time()`);
    else to.times.set(label, host.now());
  },

  timeEnd(to, label = "default") {
    label = `${label}`;
    if (logTime(this, to, "timeEnd", label, [])) to.times.delete(label);
  },

  timeLog(to, label = "default", ...data) {
    logTime(this, to, "timeLog", `${label}`, data);
  },

  trace(to, ...args) {
    const message = require("internal/format").formatWith(to.inspectOptions(true), args);
    const holder = {};
    Error.captureStackTrace(holder);
    const frames = String(holder.stack).split("\n").filter((line) => line.startsWith("    at "));
    // The first are those of the console itself.
    const start = frames.findIndex((line) => !/\bmainspring:|\(native\)$/.test(line));
    const title = message === "" ? "Trace" : `Trace: ${message}`;
    this.error([title, ...frames.slice(start === -1 ? frames.length : start)].join("\n"));
  },

  assert(to, condition, ...args) {
    if (condition) return;
    args[0] = args.length === 0 ? "Assertion failed" : `Assertion failed: ${args[0]}`;
    this.warn(...args);
  },

  clear(to) {
    const stream = to.stream(false);
    const { env } = require("process");
    if (stream.isTTY && env.TERM !== "dumb") stream.write("\u001b[1;1H\u001b[0J");
  },

  count(to, label = "default") {
    label = `${label}`;
    to.counts ??= new Map();
    const count = (to.counts.get(label) ?? 0) + 1;
    to.counts.set(label, count);
    this.log(`${label}: ${count}`);
  },

  countReset(to, label = "default") {
    label = `${label}`;
    if (!to.counts?.delete(label)) warn(`Count for '${label}' does not exist`);
  },

  group(to, ...data) {
    if (data.length > 0) this.log(...data);
    to.indent += " ".repeat(to.indentWidth);
  },

  groupEnd(to) {
    to.indent = to.indent.slice(to.indentWidth);
  },

  table(to, data, properties) {
    if (data === null || typeof data !== "object") this.log(data);
    else this.log(require("internal/console_table").table(data, properties, to.inspectOptions(false)));
  },
};

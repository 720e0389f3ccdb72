"use strict";

const { invalidArgType, validateString } = require("internal/errors");
const { status } = require("internal/process");

function create(message, { type, code, detail, ctor }) {
  const warning = new Error(message);
  warning.name = type || "Warning";
  if (code !== undefined) warning.code = code;
  if (detail !== undefined) warning.detail = detail;
  Error.captureStackTrace(warning, ctor);
  return warning;
}

// The arguments of `emitWarning` behind the first, in all the orders that they may have.
function options(type, code, ctor) {
  let detail;
  if (type !== null && typeof type === "object" && !Array.isArray(type)) {
    if (typeof type.detail === "string") detail = type.detail;
    ({ ctor, code, type = "Warning" } = type);
  } else if (typeof type === "function") {
    ctor = type;
    code = type = undefined;
  }
  if (type !== undefined) validateString(type, "type");
  if (typeof code === "function") {
    ctor = code;
    code = undefined;
  } else if (code !== undefined) validateString(code, "code");
  return { type, code, detail, ctor: ctor ?? emitWarning };
}

function emitWarning(warning, type, code, ctor) {
  const given = options(type, code, ctor);
  if (typeof warning === "string") warning = create(warning, given);
  else if (!(warning instanceof Error)) throw invalidArgType("warning", ["Error", "string"], warning);
  const { nextTick } = require("internal/task_queues");
  if (warning.name === "DeprecationWarning") {
    if (status.object?.noDeprecation) return;
    if (status.object?.throwDeprecation) {
      nextTick(() => {
        throw warning;
      });
      return;
    }
  }
  nextTick(announce, warning);
}

// A `process` that can have listeners has had `onWarning` as its first.
function announce(warning) {
  const { object } = status;
  if (object !== undefined && Object.hasOwn(object, "_events")) object.emit("warning", warning);
  else onWarning(warning);
}

function onWarning(warning) {
  if (!(warning instanceof Error)) return;
  const isDeprecation = warning.name === "DeprecationWarning";
  const { noDeprecation, traceDeprecation, traceProcessWarnings } = status.object ?? {};
  if (isDeprecation && noDeprecation) return;
  const isTraced = traceProcessWarnings || (isDeprecation && traceDeprecation);
  let text = `(mainspring:${host.pid()}) ${warning.code ? `[${warning.code}] ` : ""}`;
  text += isTraced && warning.stack ? warning.stack : Error.prototype.toString.call(warning);
  if (typeof warning.detail === "string") text += `\n${warning.detail}`;
  write(text);
}

let error;

// As a message of the script's: a `write` of its own gets it, and a reader that is gone is no error.
function write(text) {
  error ??= require("console").error;
  error(text);
}

module.exports = { emitWarning, onWarning };

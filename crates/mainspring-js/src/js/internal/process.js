"use strict";

// What is known of the process, whether or not the script ever asks for the object.
const status = {
  // The object `process`, once somebody has required it.
  object: undefined,
  exitCode: undefined,
  exiting: false,
  // Of `setUncaughtExceptionCaptureCallback`.
  capture: null,
  // Finds lines of code that is in no file.
  sourceLine: undefined,
  // Whether the main module still waits for something, at the end.
  isUnsettled: () => false,
};

// Tells the listeners of `process`, if it can have any. True if it had.
function emit(event, ...args) {
  const { object } = status;
  if (object === undefined) return false;
  if (!Object.hasOwn(object, "_events") && !Object.hasOwn(object, "emit")) return false;
  return object.emit(event, ...args);
}

function code() {
  return Number(status.exitCode) || 0;
}

function emitBeforeExit() {
  emit("beforeExit", code());
}

// Tells the listeners of `exit`, once, and says which code the process ends with.
function emitExit() {
  if (!status.exiting) {
    status.exiting = true;
    const announced = code();
    if (status.isUnsettled()) status.exitCode ??= 13;
    try {
      emit("exit", announced);
    } catch (error) {
      require("internal/uncaught").onUncaught(error, "uncaughtException");
    }
  }
  return code();
}

function setUnsettledCheck(isUnsettled) {
  status.isUnsettled = isUnsettled;
}

module.exports = { emit, emitBeforeExit, emitExit, setUnsettledCheck, status };

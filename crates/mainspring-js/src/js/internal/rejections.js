"use strict";

const { emit } = require("internal/process");

// Rejected promises without a handler, in the order of their rejection, that nobody was told of yet.
let pending = new Map();
// The ids of those that somebody was told of.
const reported = new WeakMap();
const handledLate = [];
let lastId = 0;

function note([promise, reason, isHandled]) {
  if (!isHandled) {
    pending.set(promise, { reason, id: ++lastId });
  } else if (!pending.delete(promise) && reported.has(promise)) {
    handledLate.push([promise, reported.get(promise)]);
    reported.delete(promise);
  }
}

// How V8 names a value in messages without running any of the script's code to convert it.
function describe(reason) {
  if (typeof reason === "function") return Function.prototype.toString.call(reason);
  if (typeof reason !== "object" || reason === null) return String(reason);
  const { constructor } = reason;
  const { toString } = Object.prototype;
  const isNamed = typeof constructor === "function" && constructor.name;
  return reason.toString === toString && isNamed ? `#<${constructor.name}>` : toString.call(reason);
}

function isErrorLike(reason) {
  if (typeof reason !== "object" || reason === null) return false;
  return reason instanceof Error || Object.hasOwn(reason, "stack");
}

class UnhandledPromiseRejection extends Error {
  code = "ERR_UNHANDLED_REJECTION";

  constructor(reason) {
    super(
      "This error originated either by throwing inside of an async function without a catch block, or by " +
        "rejecting a promise which was not handled with .catch(). The promise rejected with the reason " +
        `"${describe(reason)}".`,
    );
  }

  get name() {
    return "UnhandledPromiseRejection";
  }
}

function runRejections(list) {
  list.forEach(note);
  while (handledLate.length > 0) {
    const [promise, id] = handledLate.shift();
    if (!emit("rejectionHandled", promise)) {
      require("internal/warning").emitWarning(
        `Promise rejection was handled asynchronously (rejection id: ${id})`,
        "PromiseRejectionHandledWarning",
      );
    }
  }
  // If a listener throws, nobody hears of the rest, as in Node.
  const batch = pending;
  pending = new Map();
  for (const [promise, { reason, id }] of batch) {
    reported.set(promise, id);
    if (!emit("unhandledRejection", reason, promise)) {
      const error = isErrorLike(reason) ? reason : new UnhandledPromiseRejection(reason);
      require("internal/uncaught").onUncaught(error, "unhandledRejection");
    }
  }
}

module.exports = { runRejections };

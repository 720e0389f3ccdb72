"use strict";

// The loop's own promises, for scripts. They are JavaScript's in every respect; what is here is what only
// the engine can do: looking at thenables, and calling functions.

let idOf;

class LoopPromise {
  #id;

  constructor(id) {
    this.#id = id;
    released.register(this, id);
  }

  static {
    idOf = (value) => (value !== null && typeof value === "object" && #id in value ? value.#id : 0);
  }

  then(onFulfilled, onRejected) {
    return new LoopPromise(
      host.promiseThen(
        this.#id,
        typeof onFulfilled === "function" ? onFulfilled : undefined,
        typeof onRejected === "function" ? onRejected : undefined,
        react,
      ),
    );
  }

  catch(onRejected) {
    return this.then(undefined, onRejected);
  }

  finally(f) {
    if (typeof f !== "function") return this.then(f, f);
    return this.then(
      (value) => resolved(f()).then(() => value),
      (reason) => resolved(f()).then(() => { throw reason; }),
    );
  }

  get [Symbol.toStringTag]() {
    return "LoopPromise";
  }
}

// The loop lets go of a promise when the script has.
const released = new FinalizationRegistry((id) => host.promiseRelease(id));

// What a handler makes of a value: [0, value], [1, id of a promise], [2, exception].
function react(handler, value) {
  try {
    const result = handler(value);
    const id = idOf(result);
    if (id !== 0) return [1, id, result];
    if (!isThenable(result)) return [0, result];
    const { promise, resolve } = deferred();
    resolve(result);
    return [1, idOf(promise), promise];
  } catch (error) {
    return [2, error];
  }
}

function isThenable(value) {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

// The pair of functions that settle a promise: the first call of either counts. They keep it: the loop lets go of
// a promise that nobody can see, and this one can still be settled.
function settlers(promise) {
  let isDone = false;
  function settle(f) {
    return (value) => {
      if (isDone) return;
      isDone = true;
      f(promise, value);
    };
  }
  return { resolve: settle(resolveWith), reject: settle(rejectWith) };
}

function rejectWith(promise, reason) {
  host.promiseReject(idOf(promise), reason);
}

function resolveWith(promise, value) {
  const id = idOf(promise);
  const other = idOf(value);
  if (other !== 0) {
    host.promiseAdopt(id, other);
    return;
  }
  if (!isThenable(value)) {
    host.promiseFulfill(id, value);
    return;
  }
  let then;
  try {
    ({ then } = value);
  } catch (error) {
    rejectWith(promise, error);
    return;
  }
  if (typeof then !== "function") {
    host.promiseFulfill(id, value);
    return;
  }
  const { resolve, reject } = settlers(promise);
  host.enqueueMicrotask(() => {
    try {
      then.call(value, resolve, reject);
    } catch (error) {
      reject(error);
    }
  });
}

function deferred() {
  const promise = new LoopPromise(host.promiseNew());
  return { promise, ...settlers(promise) };
}

function resolved(value) {
  if (idOf(value) !== 0) return value;
  const { promise, resolve } = deferred();
  resolve(value);
  return promise;
}

function rejected(reason) {
  const { promise, reject } = deferred();
  reject(reason);
  return promise;
}

module.exports = { LoopPromise, deferred, resolved, rejected };

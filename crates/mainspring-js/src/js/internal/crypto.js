"use strict";

const { defineInterface, illegalConstructor, invalidThis } = require("internal/webidl");

const TypedArray = Object.getPrototypeOf(Uint8Array);
// The class of a typed array, undefined for everything else.
const kindOf = Object.getOwnPropertyDescriptor(TypedArray.prototype, Symbol.toStringTag).get;

const CHUNK = 65536;
const QUOTA = 65536;

// Fills a view or a part of it with random bytes, in pieces: what the host allocates is not limited.
function fillRandom(view, offset = 0, size = view.byteLength - offset) {
  if (size === 0) return;
  const { buffer, byteOffset, byteLength } = view;
  const bytes = view instanceof Uint8Array ? view : new Uint8Array(buffer, byteOffset, byteLength);
  for (let done = 0; done < size; done += CHUNK) {
    bytes.set(host.randomBytes(Math.min(CHUNK, size - done)), offset + done);
  }
}

const secret = {};

class Crypto {
  #brand;

  constructor(key) {
    if (key !== secret) throw illegalConstructor();
    this.#brand = key;
  }

  static #check(self) {
    if (typeof self !== "object" || self === null || !(#brand in self)) throw invalidThis("Crypto");
  }

  get subtle() {
    Crypto.#check(this);
    throw domException("crypto.subtle is not supported", "NotSupportedError");
  }

  getRandomValues(array) {
    Crypto.#check(this);
    if (arguments.length < 1) {
      const message = "1 argument required, but only 0 present.";
      const error = new TypeError(`Failed to execute 'getRandomValues' on 'Crypto': ${message}`);
      throw Object.assign(error, { code: "ERR_MISSING_ARGS" });
    }
    const kind = kindOf.call(array);
    if (kind === undefined || kind.startsWith("Float")) {
      throw domException("The data argument must be an integer-type TypedArray", "TypeMismatchError");
    }
    if (array.byteLength > QUOTA) {
      throw domException("The requested length exceeds 65,536 bytes", "QuotaExceededError");
    }
    fillRandom(array);
    return array;
  }

  randomUUID() {
    Crypto.#check(this);
    return host.randomUuid();
  }
}

function domException(message, name) {
  const { DOMException } = require("internal/dom_exception");
  return new DOMException(message, name);
}

defineInterface(Crypto);

module.exports = { Crypto, crypto: new Crypto(secret), fillRandom };

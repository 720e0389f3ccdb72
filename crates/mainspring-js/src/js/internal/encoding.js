"use strict";

const { codeError, invalidArgType, validateString } = require("internal/errors");
const { defineInterface, dictionary, invalidThis, toText } = require("internal/webidl");

const inspectCustom = Symbol.for("nodejs.util.inspect.custom");

// Node's native parts throw these, without the code in the text.
function nativeError(code, message) {
  return Object.assign(new TypeError(message), { code });
}

class TextEncoder {
  #encoding = "utf-8";

  static #check(self) {
    if (typeof self !== "object" || self === null || !(#encoding in self)) throw invalidThis("TextEncoder");
  }

  get encoding() {
    TextEncoder.#check(this);
    return this.#encoding;
  }

  encode(input = "") {
    TextEncoder.#check(this);
    return host.encodeUtf8(toText(input));
  }

  encodeInto(src, dest) {
    TextEncoder.#check(this);
    validateString(src, "src");
    if (!(dest instanceof Uint8Array)) throw invalidArgType("dest", "Uint8Array", dest);
    // No character is shorter in bytes than in units: more of them cannot fit.
    const [bytes, read] = host.encodeUtf8Into(src.slice(0, dest.length), dest.length);
    dest.set(bytes);
    return { read, written: bytes.length };
  }

  [inspectCustom](depth, options, inspect) {
    TextEncoder.#check(this);
    if (typeof depth === "number" && depth < 0) return this;
    return inspect({ encoding: this.#encoding }, options);
  }
}

defineInterface(TextEncoder);

const noBytes = new Uint8Array(0);
let abandoned;

function bytesOf(input) {
  if (input === undefined) return noBytes;
  if (input instanceof Uint8Array) return input;
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  if (input instanceof ArrayBuffer || input instanceof SharedArrayBuffer) {
    return input.byteLength === 0 ? noBytes : new Uint8Array(input);
  }
  throw nativeError(
    "ERR_INVALID_ARG_TYPE",
    'The "list" argument must be an instance of SharedArrayBuffer, ArrayBuffer or ArrayBufferView.',
  );
}

class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBOM;
  // Of a stream that goes on, otherwise 0.
  #stream = 0;

  constructor(encoding = "utf-8", options = undefined) {
    encoding = toText(encoding);
    options = dictionary(options, "options");
    this.#encoding = host.encodingName(encoding);
    if (this.#encoding === undefined) {
      const message = `The "${encoding}" encoding is not supported`;
      throw codeError(RangeError, "ERR_ENCODING_NOT_SUPPORTED", message);
    }
    this.#fatal = Boolean(options?.fatal);
    this.#ignoreBOM = Boolean(options?.ignoreBOM);
  }

  static #check(self) {
    if (typeof self !== "object" || self === null || !(#stream in self)) throw invalidThis("TextDecoder");
  }

  decode(input = undefined, options = undefined) {
    TextDecoder.#check(this);
    const bytes = bytesOf(input);
    const goesOn = Boolean(options?.stream);
    let text;
    if (goesOn || this.#stream !== 0) text = this.#decodeStream(bytes, !goesOn);
    else text = host.decode(this.#encoding, bytes, this.#fatal, this.#ignoreBOM);
    if (text === undefined) {
      throw nativeError(
        "ERR_ENCODING_INVALID_ENCODED_DATA",
        `The encoded data was not valid for encoding ${this.#encoding}`,
      );
    }
    return text;
  }

  #decodeStream(bytes, last) {
    const before = this.#stream;
    const [text, stream] = host.decodeStream(
      before, this.#encoding, bytes, this.#fatal, this.#ignoreBOM, last,
    );
    this.#stream = stream;
    if (before === 0 && stream !== 0) {
      abandoned ??= new FinalizationRegistry((id) => host.decodeCancel(id));
      abandoned.register(this, stream, this);
    } else if (before !== 0 && stream === 0) abandoned.unregister(this);
    return text;
  }

  get encoding() {
    TextDecoder.#check(this);
    return this.#encoding;
  }

  get fatal() {
    TextDecoder.#check(this);
    return this.#fatal;
  }

  get ignoreBOM() {
    TextDecoder.#check(this);
    return this.#ignoreBOM;
  }

  [inspectCustom](depth, options, inspect) {
    TextDecoder.#check(this);
    if (typeof depth === "number" && depth < 0) return this;
    const shown = { encoding: this.#encoding, fatal: this.#fatal, ignoreBOM: this.#ignoreBOM };
    return `${this.constructor.name} ${inspect(shown, options)}`;
  }
}

defineInterface(TextDecoder);

module.exports = { TextDecoder, TextEncoder };

"use strict";

const { codeError, invalidArgType } = require("internal/errors");
const { defineCloner, defineInterface, dictionary, invalidThis, missingArgs } = require("internal/webidl");

let bytesOf;
let rename;

// The contents do not change, so a clone or a slice shares them.
class Blob {
  #bytes;
  #type;

  constructor(blobParts = [], options = undefined) {
    if (typeof blobParts?.[Symbol.iterator] !== "function" || typeof blobParts === "string") {
      throw invalidArgType("sources", "a sequence", blobParts);
    }
    const { endings = "transparent", type = "" } = dictionary(options, "options") ?? {};
    if (`${endings}` !== "transparent" && `${endings}` !== "native") {
      throw codeError(TypeError, "ERR_INVALID_ARG_VALUE", `The property 'options.endings' is invalid. Received '${endings}'`);
    }
    this.#bytes = joined(blobParts, `${endings}`);
    this.#type = mimeType(`${type}`);
  }

  static {
    bytesOf = (value) => (value !== null && typeof value === "object" && #bytes in value ? value.#bytes : undefined);
    rename = (blob, bytes, type) => {
      blob.#bytes = bytes;
      blob.#type = type;
      return blob;
    };
  }

  get size() {
    return check(this).length;
  }

  get type() {
    check(this);
    return this.#type;
  }

  slice(start = 0, end = this.size, contentType = "") {
    const bytes = check(this);
    return rename(new Blob(), bytes.subarray(start, end), mimeType(`${contentType}`));
  }

  async arrayBuffer() {
    return check(this).slice().buffer;
  }

  async bytes() {
    return check(this).slice();
  }

  async text() {
    const { TextDecoder } = require("internal/encoding");
    return new TextDecoder().decode(check(this));
  }

  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    if (depth < 0) return this;
    return `Blob ${inspect({ size: this.size, type: this.type }, options)}`;
  }
}

class File extends Blob {
  #name;
  #lastModified;

  constructor(fileBits, fileName, options = undefined) {
    if (arguments.length < 2) throw missingArgs("fileBits", "fileName");
    super(fileBits, options);
    const { lastModified } = dictionary(options, "options") ?? {};
    this.#name = `${fileName}`.toWellFormed();
    this.#lastModified = lastModified === undefined ? Date.now() : Math.trunc(Number(lastModified)) || 0;
  }

  get name() {
    return this.#name;
  }

  get lastModified() {
    return this.#lastModified;
  }
}

function check(blob) {
  const bytes = bytesOf(blob);
  if (bytes === undefined) throw invalidThis("Blob");
  return bytes;
}

// In lower case, and nothing if it has other characters than printable ones.
function mimeType(type) {
  return /[^\x20-\x7e]/.test(type) ? "" : type.toLowerCase();
}

function joined(parts, endings) {
  const { TextEncoder } = require("internal/encoding");
  const encoder = new TextEncoder();
  const pieces = [];
  let size = 0;
  for (const part of parts) {
    const piece = bytesOf(part) ?? viewOf(part) ?? encoder.encode(withEndings(`${part}`, endings));
    pieces.push(piece);
    size += piece.length;
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

function withEndings(text, endings) {
  return endings === "native" ? text.replace(/\r\n?/g, "\n") : text;
}

function viewOf(part) {
  if (ArrayBuffer.isView(part)) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
  const kind = host.details(part)?.[0];
  return kind === "ArrayBuffer" || kind === "SharedArrayBuffer" ? new Uint8Array(part) : undefined;
}

defineInterface(Blob);
defineInterface(File);
defineCloner(Blob, (blob) => rename(new Blob(), bytesOf(blob), blob.type));
defineCloner(File, (file) => {
  const copy = new File([], file.name, { lastModified: file.lastModified });
  return rename(copy, bytesOf(file), file.type);
});

module.exports = { Blob, File };

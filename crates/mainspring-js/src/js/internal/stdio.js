"use strict";

const { lazyEmitter } = require("internal/lazy_emitter");

class Stdio {
  constructor(fd) {
    this.fd = fd;
    this.writable = true;
    this.writableEnded = false;
    this.destroyed = false;
  }

  // Undefined unless it is a terminal, as in Node.
  get isTTY() {
    return host.isTTY(this.fd) || undefined;
  }

  set isTTY(value) {
    Object.defineProperty(this, "isTTY", { value, writable: true, enumerable: true, configurable: true });
  }

  get columns() {
    return host.windowSize(this.fd)?.[0];
  }

  get rows() {
    return host.windowSize(this.fd)?.[1];
  }

  write(chunk, encoding = undefined, callback = undefined) {
    if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
    const bytes = toBytes(chunk, encoding);
    const error = this.destroyed ? writeAfterDestroy() : this.#send(bytes);
    if (callback !== undefined) nextTick(callback, error);
    // Whoever listens is told once.
    if (error !== null && !this.destroyed) {
      this.destroyed = true;
      this.writable = false;
      nextTick(() => this.emit("error", error));
    }
    return error === null;
  }

  #send(bytes) {
    if (this.writableEnded) return codeError("ERR_STREAM_WRITE_AFTER_END", "write after end", Error);
    try {
      host.write(this.fd, bytes);
      return null;
    } catch (error) {
      return error;
    }
  }

  end(chunk = undefined, encoding = undefined, callback = undefined) {
    if (typeof chunk === "function") [chunk, callback] = [undefined, chunk];
    else if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    this.writable = false;
    this.writableEnded = true;
    nextTick(() => {
      this.emit("finish");
      callback?.();
    });
    return this;
  }
}

function nextTick(callback, ...args) {
  require("internal/task_queues").nextTick(callback, ...args);
}

function codeError(code, message, Base = TypeError) {
  return require("internal/errors").codeError(Base, code, message);
}

function writeAfterDestroy() {
  return codeError("ERR_STREAM_DESTROYED", "Cannot call write after a stream was destroyed", Error);
}

function toBytes(chunk, encoding) {
  if (typeof chunk === "string") {
    if (encoding === undefined || encoding === "utf8" || encoding === "utf-8") return chunk;
    const { Buffer } = require("buffer");
    if (Buffer.isEncoding(encoding)) return Buffer.from(chunk, encoding);
    throw codeError("ERR_UNKNOWN_ENCODING", `Unknown encoding: ${encoding}`);
  }
  if (chunk instanceof Uint8Array) return chunk;
  if (ArrayBuffer.isView(chunk)) {
    const { buffer, byteOffset, byteLength } = chunk;
    return new Uint8Array(buffer, byteOffset, byteLength);
  }
  if (chunk === null) throw codeError("ERR_STREAM_NULL_VALUES", "May not write null values to stream");
  const { invalidArgType } = require("internal/errors");
  throw invalidArgType("chunk", ["string", "Buffer", "TypedArray", "DataView"], chunk);
}

lazyEmitter(Stdio.prototype);

module.exports = { stderr: new Stdio(2), stdout: new Stdio(1) };

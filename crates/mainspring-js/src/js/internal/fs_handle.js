"use strict";

const EventEmitter = require("events");
const { operations, runPromise } = require("internal/fs_core");

class FileHandle extends EventEmitter {
  #fd;
  #closing = null;

  constructor(fd) {
    super();
    this.#fd = fd;
  }

  get fd() {
    return this.#fd;
  }

  async #run(name, syscall, ...args) {
    if (this.#fd === -1) throw Object.assign(new Error("file closed"), { code: "EBADF", syscall });
    return runPromise(operations[name](this.#fd, ...args));
  }

  async read(buffer, offset, length, position) {
    let target = buffer;
    let at = offset;
    if (!ArrayBuffer.isView(buffer)) {
      at = buffer ?? {};
      target = at.buffer ?? require("buffer").Buffer.alloc(16384);
    }
    const bytesRead = await this.#run("read", "read", target, at, length, position);
    return Object.assign(Object.create(null), { bytesRead, buffer: target });
  }

  async write(buffer, offset, length, position) {
    const bytesWritten = await this.#run("write", "write", buffer, offset, length, position);
    return Object.assign(Object.create(null), { bytesWritten, buffer });
  }

  readFile(options) {
    return this.#run("readFile", "readFile", options);
  }

  async writeFile(data, options) {
    await this.#run("writeFile", "writeFile", data, options);
  }

  async appendFile(data, options) {
    await this.#run("appendFile", "writeFile", data, options);
  }

  stat() {
    return this.#run("fstat", "fstat");
  }

  truncate(length) {
    return this.#run("ftruncate", "ftruncate", length);
  }

  sync() {
    return this.#run("fsync", "fsync");
  }

  datasync() {
    return this.#run("fdatasync", "fdatasync");
  }

  close() {
    if (this.#fd === -1) return this.#closing ?? Promise.resolve();
    const closed = this.#run("close", "close");
    this.#fd = -1;
    this.#closing = closed.then(() => {
      this.#closing = null;
      this.emit("close");
    });
    return this.#closing;
  }

  [Symbol.for("nodejs.asyncDispose")]() {
    return this.close();
  }
}

module.exports = { FileHandle };

"use strict";

const { Readable } = require("internal/net_readable");

const CHUNK = 65536;

function toBuffer({ buffer, byteOffset, length }) {
  return require("buffer").Buffer.from(buffer, byteOffset, length);
}

// While a piece is being read, the loop stays alive.
class Stdin extends Readable {
  constructor() {
    super(CHUNK);
    this.fd = 0;
    this.isTTY = host.isTTY(0) || undefined;
    this.destroyed = false;
    this.isReading = false;
  }

  _read() {
    if (this.isReading || this.destroyed) return;
    this.isReading = true;
    host.fsRead(this.fd, CHUNK, undefined, (error, bytes) => {
      this.isReading = false;
      if (this.destroyed) return;
      if (error) this.destroy(error);
      else if (bytes.length === 0) this._pushEnd();
      else if (this._push(toBuffer(bytes))) this._read();
    });
  }

  _onReadableEnd() {
    this.destroy();
  }

  destroy(error = undefined) {
    if (this.destroyed) return this;
    this.destroyed = true;
    require("internal/task_queues").nextTick(() => {
      if (error) this.emit("error", error);
      this.emit("close");
    });
    return this;
  }
}

module.exports = { stdin: new Stdin() };

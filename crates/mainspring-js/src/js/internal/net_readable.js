"use strict";

// The side of a socket that is read. It behaves as a stream.Readable does, as far as sockets need it, but is
// none: there is no module of streams.

const EventEmitter = require("events");
const { nextTick } = require("internal/task_queues");

class ReadableState {
  constructor(highWaterMark) {
    this.highWaterMark = highWaterMark;
    this.chunks = [];
    this.length = 0;
    this.flowing = null;
    this.isPaused = false;
    this.isResumeScheduled = false;
    this.hasReadableListener = false;
    this.isReadableScheduled = false;
    this.ended = false;
    this.endEmitted = false;
    this.decoder = null;
    this.encoding = null;
    this.pipes = [];
  }
}

// Takes what is asked for out of the buffer, or nothing if there is not enough.
function take(state, size) {
  const { chunks } = state;
  if (state.length === 0) return null;
  let count = size;
  if (count === undefined) {
    if (state.flowing || chunks.length === 1) {
      const first = chunks.shift();
      state.length -= first.length;
      return first;
    }
    count = state.length;
  }
  if (count > state.length) {
    if (!state.ended) return null;
    count = state.length;
  }
  const whole = state.decoder ? chunks.join("") : require("buffer").Buffer.concat(chunks);
  const rest = whole.length - count;
  state.chunks = rest > 0 ? [whole.slice(count)] : [];
  state.length = rest;
  return rest > 0 ? whole.slice(0, count) : whole;
}

function flow(stream) {
  const state = stream._readableState;
  while (state.flowing && stream.read() !== null);
}

function resumeNow(stream) {
  const state = stream._readableState;
  stream.read(0);
  state.isResumeScheduled = false;
  stream.emit("resume");
  flow(stream);
  if (state.flowing) stream.read(0);
}

function scheduleReadable(stream) {
  const state = stream._readableState;
  if (state.isReadableScheduled) return;
  state.isReadableScheduled = true;
  nextTick(emitReadable, stream);
}

function emitReadable(stream) {
  const state = stream._readableState;
  state.isReadableScheduled = false;
  if (!stream.destroyed && !stream.errored && (state.length > 0 || state.ended)) stream.emit("readable");
  flow(stream);
}

function emitEnd(stream) {
  const state = stream._readableState;
  if (stream.errored || stream._isCloseEmitted || state.endEmitted || state.length > 0) return;
  state.endEmitted = true;
  stream.emit("end");
  stream._onReadableEnd();
}

class Readable extends EventEmitter {
  constructor(highWaterMark) {
    super();
    this._readableState = new ReadableState(highWaterMark);
  }

  // Something has come. Says whether more is wanted.
  _push(chunk) {
    const state = this._readableState;
    let piece = chunk;
    if (state.decoder !== null) {
      piece = state.decoder.write(chunk);
      if (piece === "") return true;
    }
    if (state.flowing === true && state.length === 0) {
      this.emit("data", piece);
      return true;
    }
    state.chunks.push(piece);
    state.length += piece.length;
    if (state.hasReadableListener) scheduleReadable(this);
    return state.length < state.highWaterMark;
  }

  // Nothing more will come.
  _pushEnd() {
    const state = this._readableState;
    if (state.ended) return;
    const rest = state.decoder?.end();
    if (rest) {
      state.chunks.push(rest);
      state.length += rest.length;
    }
    state.ended = true;
    emitReadable(this);
    this.read(0);
  }

  read(size) {
    const state = this._readableState;
    const piece = size === 0 ? null : take(state, size);
    if (state.ended) {
      if (state.length === 0) nextTick(emitEnd, this);
    } else if (state.length < state.highWaterMark) this._read();
    if (piece !== null && !this.errored && !this._isCloseEmitted) this.emit("data", piece);
    return piece;
  }

  on(event, listener) {
    super.on(event, listener);
    const state = this._readableState;
    if (event === "data") {
      if (state.flowing !== false) this.resume();
    } else if (event === "readable" && !state.endEmitted && !state.hasReadableListener) {
      state.hasReadableListener = true;
      state.flowing = false;
      if (state.length > 0) scheduleReadable(this);
      else nextTick(() => this.read(0));
    }
    return this;
  }

  addListener(event, listener) {
    return this.on(event, listener);
  }

  removeListener(event, listener) {
    super.removeListener(event, listener);
    if (event === "readable" && this.listenerCount("readable") === 0) {
      const state = this._readableState;
      state.hasReadableListener = false;
      state.flowing = null;
      if (this.listenerCount("data") > 0 && !state.isPaused) this.resume();
    }
    return this;
  }

  off(event, listener) {
    return this.removeListener(event, listener);
  }

  resume() {
    const state = this._readableState;
    if (!state.flowing) {
      state.flowing = !state.hasReadableListener;
      if (!state.isResumeScheduled) {
        state.isResumeScheduled = true;
        nextTick(resumeNow, this);
      }
    }
    state.isPaused = false;
    return this;
  }

  pause() {
    const state = this._readableState;
    if (state.flowing !== false) {
      state.flowing = false;
      this.emit("pause");
    }
    state.isPaused = true;
    return this;
  }

  isPaused() {
    const state = this._readableState;
    return state.isPaused || state.flowing === false;
  }

  setEncoding(encoding) {
    const { StringDecoder } = require("string_decoder");
    const state = this._readableState;
    state.decoder = new StringDecoder(encoding);
    state.encoding = state.decoder.encoding;
    const text = state.chunks.map((chunk) => state.decoder.write(chunk)).join("");
    state.chunks = text === "" ? [] : [text];
    state.length = text.length;
    return this;
  }

  pipe(target, options) {
    return require("internal/net_pipe").pipe(this, target, options);
  }

  unpipe(target) {
    const { pipes } = this._readableState;
    for (const { target: known, stop } of [...pipes]) {
      if (target === undefined || known === target) stop();
    }
    return this;
  }

  [Symbol.asyncIterator]() {
    return require("internal/net_pipe").iterate(this);
  }

  get readable() {
    const { endEmitted } = this._readableState;
    return !this.destroyed && !this._isErrorEmitted && !endEmitted;
  }

  get readableEnded() {
    return this._readableState.endEmitted;
  }

  get readableFlowing() {
    return this._readableState.flowing;
  }

  get readableLength() {
    return this._readableState.length;
  }

  get readableHighWaterMark() {
    return this._readableState.highWaterMark;
  }

  get readableEncoding() {
    return this._readableState.encoding;
  }
}

module.exports = { Readable, ReadableState };

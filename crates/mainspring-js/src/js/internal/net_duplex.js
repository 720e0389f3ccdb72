"use strict";

// A socket without the system: the side that is written, and how both sides end. It behaves as a stream.Duplex
// does, as far as sockets need it, but is none.

const { codeError, invalidArgType } = require("internal/errors");
const { Readable, ReadableState } = require("internal/net_readable");
const { nextTick } = require("internal/task_queues");

class WritableState {
  constructor(highWaterMark) {
    this.highWaterMark = highWaterMark;
    // In the buffer and on the way.
    this.length = 0;
    this.buffered = [];
    this.corked = 0;
    // What is on the way: how much, and whom to tell.
    this.isWriting = false;
    this.writingLength = 0;
    this.writingCallbacks = null;
    this.needDrain = false;
    this.ending = false;
    this.isFinalCalled = false;
    this.finished = false;
    this.finishCallbacks = [];
  }
}

// What `_transfer` says if there is no error.
const DONE = 0;
const LATER = 1;

const { isView } = ArrayBuffer;

function destroyedError(name) {
  return codeError(Error, "ERR_STREAM_DESTROYED", `Cannot call ${name} after a stream was destroyed`);
}

function call(callbacks, error) {
  if (typeof callbacks === "function") callbacks(error);
  else if (callbacks !== null) for (const callback of callbacks) callback(error);
}

// Takes something to be written. Says whether there is room for more, or what is wrong.
function accept(stream, chunk, encoding, callback, isLast = false) {
  if (typeof chunk === "string") {
    if (encoding && encoding !== "utf8" && !require("buffer").Buffer.isEncoding(encoding)) {
      throw codeError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${encoding}`);
    }
  } else if (chunk === null) {
    throw codeError(TypeError, "ERR_STREAM_NULL_VALUES", "May not write null values to stream");
  } else if (!isView(chunk)) {
    throw invalidArgType("chunk", ["string", "Buffer", "TypedArray", "DataView"], chunk);
  }
  const state = stream._writableState;
  if (state.ending || stream.destroyed) {
    const error = state.ending ? stream._writeAfterEnd(isLast) : destroyedError("write");
    if (callback !== null) nextTick(callback, error);
    stream.destroy(error);
    return error;
  }
  const length = chunk.length ?? chunk.byteLength;
  state.length += length;
  if (state.isWriting || state.corked > 0 || stream.errored) {
    state.buffered.push({ chunk, encoding, callback });
  } else begin(stream, chunk, encoding, length, callback);
  // What could be written at once takes no room.
  const hasRoom = state.length < state.highWaterMark;
  if (!hasRoom) state.needDrain = true;
  return hasRoom && !stream.errored && !stream.destroyed;
}

// Hands something on. What could be written at once is done with; its callback is called later all the same.
function begin(stream, chunk, encoding, length, callbacks) {
  const state = stream._writableState;
  const outcome = stream._transfer(chunk, encoding);
  if (outcome === DONE) {
    state.length -= length;
    if (callbacks !== null || state.needDrain || state.ending) nextTick(afterWrite, stream, callbacks);
  } else if (outcome === LATER) {
    state.isWriting = true;
    state.writingLength = length;
    state.writingCallbacks = callbacks;
  } else {
    state.length -= length;
    stream.errored ??= outcome;
    nextTick(afterFailure, stream, callbacks, outcome);
  }
}

// Several at once, if several wait.
function beginBuffered(stream) {
  const state = stream._writableState;
  const { buffered } = state;
  if (buffered.length === 0 || state.isWriting || state.corked > 0 || stream.destroyed) return;
  state.buffered = [];
  if (buffered.length === 1) {
    const [{ chunk, encoding, callback }] = buffered;
    begin(stream, chunk, encoding, state.length, callback);
    return;
  }
  const callbacks = [];
  for (const { callback } of buffered) if (callback !== null) callbacks.push(callback);
  begin(stream, buffered, undefined, state.length, callbacks);
}

function afterWrite(stream, callbacks) {
  const state = stream._writableState;
  if (state.needDrain && state.length === 0 && !state.ending && !stream.destroyed) {
    state.needDrain = false;
    stream.emit("drain");
  }
  call(callbacks, null);
  if (stream.destroyed) failBuffered(stream);
  finishMaybe(stream);
}

function afterFailure(stream, callbacks, error) {
  call(callbacks, error);
  failBuffered(stream);
  stream.destroy(error);
}

function failBuffered(stream) {
  const state = stream._writableState;
  if (state.isWriting) return;
  const { buffered, finishCallbacks } = state;
  state.buffered = [];
  state.finishCallbacks = [];
  for (const { chunk, callback } of buffered) {
    state.length -= chunk.length ?? chunk.byteLength;
    callback?.(stream.errored ?? destroyedError("write"));
  }
  for (const callback of finishCallbacks) callback(stream.errored ?? destroyedError("end"));
}

function isFinishable(stream) {
  const state = stream._writableState;
  return state.ending && state.length === 0 && !state.isWriting && !state.finished &&
    !stream.destroyed && !stream.errored;
}

function finishMaybe(stream) {
  const state = stream._writableState;
  if (!isFinishable(stream) || state.isFinalCalled) return;
  state.isFinalCalled = true;
  stream._final();
}

function finish(stream) {
  if (!isFinishable(stream)) return;
  const state = stream._writableState;
  state.finished = true;
  const callbacks = state.finishCallbacks;
  state.finishCallbacks = [];
  for (const callback of callbacks) callback(null);
  stream.emit("finish");
  if (stream._readableState.endEmitted) stream.destroy();
}

function emitErrorAndClose(stream, error) {
  if (error && !stream._isErrorEmitted) {
    stream._isErrorEmitted = true;
    stream._isCloseEmitted = true;
    stream.emit("error", error);
  }
  stream._isCloseEmitted = true;
}

class Duplex extends Readable {
  constructor({ highWaterMark = 16384, readableHighWaterMark, writableHighWaterMark, allowHalfOpen }) {
    super(readableHighWaterMark ?? highWaterMark);
    this._writableState = new WritableState(writableHighWaterMark ?? highWaterMark);
    this.allowHalfOpen = Boolean(allowHalfOpen);
    this.destroyed = false;
    this.errored = null;
    this._isErrorEmitted = false;
    this._isCloseEmitted = false;
  }

  // A socket that was closed can be used again.
  _renew() {
    const { flowing, decoder, encoding, highWaterMark } = this._readableState;
    this._readableState = Object.assign(new ReadableState(highWaterMark), { flowing, decoder, encoding });
    this._writableState = new WritableState(this._writableState.highWaterMark);
    this.destroyed = false;
    this.errored = null;
    this._isErrorEmitted = false;
    this._isCloseEmitted = false;
  }

  _onReadableEnd() {
    if (this.writable && !this.allowHalfOpen) {
      nextTick(() => {
        if (this.writable) this.end();
      });
    } else if (this._writableState.finished) this.destroy();
  }

  write(chunk, encoding, callback) {
    if (typeof encoding === "function") return accept(this, chunk, undefined, encoding) === true;
    return accept(this, chunk, encoding, callback ?? null) === true;
  }

  _writeAfterEnd() {
    return codeError(Error, "ERR_STREAM_WRITE_AFTER_END", "write after end");
  }

  // What `_transfer` began is done.
  _transferred(error) {
    const state = this._writableState;
    const callbacks = state.writingCallbacks;
    state.isWriting = false;
    state.writingCallbacks = null;
    state.length -= state.writingLength;
    if (error) {
      this.errored ??= error;
      afterFailure(this, callbacks, error);
      return;
    }
    beginBuffered(this);
    afterWrite(this, callbacks);
  }

  end(chunk, encoding, callback) {
    let done = callback;
    let last = chunk;
    let coding = encoding;
    if (typeof chunk === "function") {
      done = chunk;
      last = undefined;
      coding = undefined;
    } else if (typeof encoding === "function") {
      done = encoding;
      coding = undefined;
    }
    const state = this._writableState;
    const outcome = last == null ? true : accept(this, last, coding, null, true);
    let error = outcome instanceof Error ? outcome : null;
    state.corked = 0;
    beginBuffered(this);
    if (error === null && !this.errored && !state.ending) {
      state.ending = true;
      finishMaybe(this);
    } else if (error === null && state.finished) {
      error = codeError(Error, "ERR_STREAM_ALREADY_FINISHED", "Cannot call end after a stream was finished");
    } else if (error === null && this.destroyed) error = destroyedError("end");
    if (typeof done === "function") {
      if (error) nextTick(done, error);
      else if (state.finished) nextTick(done);
      else state.finishCallbacks.push(done);
    }
    return this;
  }

  // What `_final` began is done.
  _finalized(error) {
    if (error) this.destroy(error);
    else nextTick(finish, this);
  }

  cork() {
    this._writableState.corked++;
  }

  uncork() {
    const state = this._writableState;
    if (state.corked === 0) return;
    state.corked--;
    beginBuffered(this);
  }

  destroy(error) {
    if (this.destroyed) return this;
    const state = this._writableState;
    if (state.buffered.length > 0 || state.finishCallbacks.length > 0) nextTick(failBuffered, this);
    this.destroyed = true;
    if (error) this.errored ??= error;
    nextTick(emitErrorAndClose, this, error);
    this._destroy();
    return this;
  }

  get closed() {
    return this.destroyed;
  }

  get writable() {
    return !this.destroyed && !this.errored && !this._writableState.ending;
  }

  get writableEnded() {
    return this._writableState.ending;
  }

  get writableFinished() {
    return this._writableState.finished;
  }

  get writableLength() {
    return this._writableState.length;
  }

  get writableHighWaterMark() {
    return this._writableState.highWaterMark;
  }

  get writableNeedDrain() {
    const { needDrain, ending } = this._writableState;
    return !this.destroyed && !ending && needDrain;
  }

  get writableCorked() {
    return this._writableState.corked;
  }
}

module.exports = { DONE, Duplex, LATER };

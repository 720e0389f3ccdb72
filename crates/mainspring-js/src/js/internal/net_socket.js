"use strict";

const {
  AbortError, codeError, invalidArgType, validateAbortSignal, validateFunction, validateNumber, validateString,
} = require("internal/errors");
const { Buffer } = require("buffer");
const { DONE, Duplex, LATER } = require("internal/net_duplex");
const { addressError, errnoError } = require("internal/net_errors");
const { nextTick } = require("internal/task_queues");

// What the host tells of, by number.
const DATA = 0;
const END = 1;
const CONNECTED = 2;
const WRITTEN = 3;
const SHUT = 4;
const CLOSED = 5;
const CONNECTION = 6;

// Sockets and servers by the number that the host has for them.
const handles = [];
const NONE = -1;
const ETIMEDOUT = -110;
const kHandle = Symbol("handle");

const { netWrite } = host;
const { setPrototypeOf } = Object;
const bufferPrototype = Buffer.prototype;

host.netDispatch((id, event, value) => {
  const handle = handles[id];
  if (event === CLOSED) handles[id] = undefined;
  handle?._onEvent(event, value);
});

function badPort(name, port) {
  const { message } = invalidArgType(name, "number", port);
  const received = message.slice(message.indexOf("Received"));
  return codeError(RangeError, "ERR_SOCKET_BAD_PORT", `${name} should be >= 0 and < 65536. ${received}.`);
}

function checkPort(port, name) {
  const isNumber = typeof port === "number" || (typeof port === "string" && port.trim() !== "");
  if (!isNumber || +port !== +port >>> 0 || +port > 0xffff) throw badPort(name, port);
  return port | 0;
}

// `(options, callback)`, `(path, callback)` or `(port, host, callback)`.
function normalize(args) {
  const [first] = args;
  const last = args.at(-1);
  const callback = typeof last === "function" ? last : null;
  if (first !== null && typeof first === "object") return [first, callback];
  if (typeof first === "string" && !(Number(first) >= 0)) return [{ path: first }, callback];
  const options = typeof first === "function" ? {} : { port: first };
  if (typeof args[1] === "string") options.host = args[1];
  return [options, callback];
}

class Socket extends Duplex {
  #id = NONE;
  #isReading = false;
  // Whether something was to be read before there was a connection.
  #wantsRead = false;
  // Whether the host has not written all that it was given.
  #isSending = false;
  #reset = false;
  #closedWritten = 0;
  #pendingLength = 0;
  #sockname;
  #peername;
  #timer = null;
  #isRef = true;
  #options = {};
  // The addresses that are left to try, and the errors of those that were tried.
  #attempts = null;

  constructor(options) {
    const given = options ?? {};
    super(given);
    if (given.fd !== undefined || typeof options === "number") {
      throw codeError(Error, "ERR_METHOD_NOT_IMPLEMENTED", "A socket of a descriptor is not implemented");
    }
    this.connecting = false;
    this.bytesRead = 0;
    this.server = null;
    this._server = null;
    const { noDelay, keepAlive, keepAliveInitialDelay: delay } = given;
    this.#options = { noDelay, keepAlive, delay };
    if (given.signal !== undefined) this.#listenTo(given.signal);
    if (given[kHandle] !== undefined) {
      this.#adopt(given[kHandle]);
      this.#setUp();
      if (given.pauseOnCreate) this._readableState.flowing = false;
      else this.read(0);
    }
  }

  #listenTo(signal) {
    validateAbortSignal(signal, "signal");
    const onAbort = () => this.destroy(new AbortError(undefined, { cause: signal.reason }));
    if (signal.aborted) onAbort();
    else {
      signal.addEventListener("abort", onAbort, { once: true });
      this.once("close", () => signal.removeEventListener("abort", onAbort));
    }
  }

  #adopt(id) {
    this.#id = id;
    handles[id] = this;
    if (!this.#isRef) host.netRef(id, false);
  }

  // The options that need a connection.
  #setUp() {
    const { noDelay, keepAlive, delay } = this.#options;
    if (noDelay) host.netNoDelay(this.#id, true);
    if (keepAlive) host.netKeepAlive(this.#id, true, ~~(delay / 1000));
  }

  _onEvent(event, value) {
    switch (event) {
      case DATA:
        this.#timer?.refresh();
        this.bytesRead += value.length;
        if (!this._push(setPrototypeOf(value, bufferPrototype)) && this.#isReading) this.#read(false);
        break;
      case END:
        this.#timer?.refresh();
        this.#isReading = false;
        if (this.destroyed) return;
        if (value < 0) this.destroy(errnoError(value, "read"));
        else this._pushEnd();
        break;
      case CONNECTED:
        this.#onConnected(value);
        break;
      case WRITTEN:
        this.#isSending = false;
        this.#timer?.refresh();
        this._transferred(value < 0 ? errnoError(value, "write") : null);
        break;
      case SHUT:
        // That it could not be told is no error: then there is nobody to tell.
        if (!this.destroyed) this._finalized();
        break;
      case CLOSED:
        if (this.#isSending) {
          this.#isSending = false;
          this._transferred(null);
        }
        this.emit("close", Boolean(this.errored));
        break;
    }
  }

  #read(isReading) {
    this.#isReading = isReading;
    const status = host.netRead(this.#id, isReading);
    if (status < 0) this.destroy(errnoError(status, "read"));
  }

  _read() {
    if (this.connecting || this.#id === NONE) this.#wantsRead = true;
    else if (!this.#isReading) this.#read(true);
  }

  _transfer(chunk, encoding) {
    if (this.connecting) {
      this.#transferOnceConnected(chunk, encoding);
      return LATER;
    }
    if (this.#id === NONE) return codeError(Error, "ERR_SOCKET_CLOSED", "Socket is closed");
    this.#timer?.refresh();
    const data = typeof chunk !== "string" && !Array.isArray(chunk) ? chunk : toBytes(chunk, encoding);
    const status = netWrite(this.#id, data);
    if (status === DONE) return DONE;
    if (status < 0) return errnoError(status, "write");
    this.#isSending = true;
    return LATER;
  }

  #transferOnceConnected(chunk, encoding) {
    this.#pendingLength = Buffer.byteLength(chunk, encoding);
    const onConnect = () => {
      this.#pendingLength = 0;
      this.removeListener("close", onClose);
      const outcome = this._transfer(chunk, encoding);
      if (outcome !== LATER) this._transferred(outcome === DONE ? null : outcome);
    };
    const onClose = () => {
      const message = "Socket closed before the connection was established";
      this._transferred(codeError(Error, "ERR_SOCKET_CLOSED_BEFORE_CONNECTION", message));
    };
    this.once("connect", onConnect);
    this.once("close", onClose);
  }

  _writeAfterEnd(isLast) {
    if (isLast || !this.readableEnded || this.allowHalfOpen) return super._writeAfterEnd();
    const error = new Error("This socket has been ended by the other party");
    return Object.assign(error, { code: "EPIPE" });
  }

  _final() {
    if (this.connecting) this.once("connect", () => this._final());
    else if (this.#id === NONE) this._finalized(null);
    else host.netShutdown(this.#id);
  }

  _destroy() {
    const wasConnecting = this.connecting;
    this.connecting = false;
    this.#attempts = null;
    this.#stopTimer();
    if (this.#id === NONE) {
      const args = wasConnecting ? ["close", Boolean(this.errored)] : ["close"];
      nextTick(() => this.emit(...args));
    } else {
      this.#closedWritten = host.netClose(this.#id, this.#reset);
      this.#id = NONE;
      this.#isReading = false;
    }
    if (this._server) {
      this._server._onSocketClosed();
      this._server = null;
    }
  }

  destroySoon() {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", this.destroy);
  }

  resetAndDestroy() {
    if (this.connecting) this.once("connect", () => this.resetAndDestroy());
    else if (this.#id === NONE) this.destroy(codeError(Error, "ERR_SOCKET_CLOSED", "Socket is closed"));
    else {
      this.#reset = true;
      this.destroy();
    }
    return this;
  }

  connect(...args) {
    const [options, callback] = normalize(args);
    if (options.path === undefined && options.port === undefined) {
      const message = 'The "options" or "port" or "path" argument must be specified';
      throw codeError(TypeError, "ERR_MISSING_ARGS", message);
    }
    if (this.destroyed) {
      this._renew();
      this.#sockname = this.#peername = undefined;
    }
    if (callback !== null) this.once("connect", callback);
    if (this.connecting) return this;
    this.#timer?.refresh();
    this.connecting = true;
    if (options.noDelay !== undefined) this.#options.noDelay = Boolean(options.noDelay);
    if (options.keepAlive !== undefined) {
      this.#options.keepAlive = Boolean(options.keepAlive);
      this.#options.delay = options.keepAliveInitialDelay;
    }
    if (options.path !== undefined) {
      validateString(options.path, "options.path");
      this.#begin({ address: options.path }, host.netConnectPath(options.path));
    } else this.#lookUp(options);
    return this;
  }

  #lookUp(options) {
    const { host: name = "localhost", localAddress, localPort, family = 0, lookup } = options;
    const port = checkPort(options.port, "Port");
    validateString(name, "hostname");
    if (localAddress && host.netIsIP(localAddress) === 0) {
      throw codeError(TypeError, "ERR_INVALID_IP_ADDRESS", `Invalid IP address: ${localAddress}`);
    }
    if (localPort !== undefined) validateNumber(localPort, "options.localPort");
    if (lookup != null) validateFunction(lookup, "options.lookup");
    const locals = { localAddress, localPort };
    if (host.netIsIP(name) !== 0) {
      nextTick(() => {
        if (this.connecting) this.#attempt({ address: name, port, ...locals });
      });
      return;
    }
    const select = require("internal/net_select");
    select.lookUp(name, family, lookup, options, (error, found) => {
      for (const { address, version } of found ?? [{}]) this.emit("lookup", error, address, version, name);
      if (!this.connecting) return;
      if (error) {
        nextTick(() => this.destroy(error));
        return;
      }
      this.#timer?.refresh();
      const [first, ...rest] = select.interleave(found);
      const toTarget = ({ address }) => ({ address, port, ...locals });
      const patience = options.autoSelectFamilyAttemptTimeout ?? select.attemptTimeout();
      if (rest.length > 0) this.#attempts = { rest: rest.map(toTarget), errors: [], patience };
      this.#attempt(toTarget(first));
    });
  }

  #attempt(target) {
    const { address, port, localAddress, localPort = 0 } = target;
    const local = localAddress ?? (localPort ? (address.includes(":") ? "::" : "0.0.0.0") : undefined);
    this.#begin(target, host.netConnect(address, port, local, localPort));
  }

  #begin(target, id) {
    const { address, port, localAddress, localPort } = target;
    this._target = target;
    if (id >= 0) {
      this.#adopt(id);
      if (this.#attempts?.rest.length > 0) this.#limitAttempt(id);
      return;
    }
    const local = localAddress && localPort ? `${localAddress}:${localPort}` : undefined;
    this.#onFailed(addressError(id, "connect", address, port, local));
  }

  // Gives an address only so much time if there is another one.
  #limitAttempt(id) {
    const { setTimeout } = require("timers");
    setTimeout(() => {
      if (!this.connecting || this.#id !== id) return;
      this.#onConnected(ETIMEDOUT);
    }, this.#attempts.patience).unref();
  }

  #onConnected(status) {
    if (this.destroyed) return;
    if (status < 0) {
      const { address, port, localAddress, localPort } = this._target;
      const local = localAddress && localPort ? `${localAddress}:${localPort}` : undefined;
      this.#onFailed(addressError(status, "connect", address, port, local));
      return;
    }
    this.connecting = false;
    this.#attempts = null;
    this.#sockname = undefined;
    this.#timer?.refresh();
    this.#setUp();
    this.emit("connect");
    this.emit("ready");
    if (this.#wantsRead || !this.isPaused()) this._read();
  }

  #onFailed(error) {
    const attempts = this.#attempts;
    if (attempts === null) {
      this.destroy(error);
      return;
    }
    attempts.errors.push(error);
    const next = attempts.rest.shift();
    if (next === undefined) {
      const all = new AggregateError(attempts.errors);
      all.code = attempts.errors[0].code;
      this.destroy(all);
      return;
    }
    if (this.#id !== NONE) {
      handles[this.#id] = undefined;
      host.netClose(this.#id, false);
      this.#id = NONE;
    }
    this.#attempt(next);
  }

  #stopTimer() {
    if (this.#timer === null) return;
    require("timers").clearTimeout(this.#timer);
    this.#timer = null;
  }

  setTimeout(ms, callback) {
    if (this.destroyed) return this;
    validateNumber(ms, "msecs");
    if (ms < 0 || !Number.isFinite(ms)) {
      const { outOfRange } = require("internal/errors");
      throw outOfRange("msecs", "a non-negative finite number", ms);
    }
    this.timeout = ms;
    this.#stopTimer();
    if (callback !== undefined) validateFunction(callback, "callback");
    if (ms === 0) {
      if (callback !== undefined) this.removeListener("timeout", callback);
      return this;
    }
    const { setTimeout } = require("timers");
    this.#timer = setTimeout(() => this.emit("timeout"), ms).unref();
    if (callback !== undefined) this.once("timeout", callback);
    return this;
  }

  setNoDelay(isOn = true) {
    this.#options.noDelay = Boolean(isOn);
    if (this.#id !== NONE && !this.connecting) host.netNoDelay(this.#id, Boolean(isOn));
    return this;
  }

  setKeepAlive(isOn = false, delay = 0) {
    Object.assign(this.#options, { keepAlive: Boolean(isOn), delay });
    if (this.#id !== NONE && !this.connecting) host.netKeepAlive(this.#id, Boolean(isOn), ~~(delay / 1000));
    return this;
  }

  #setRef(isRef) {
    this.#isRef = isRef;
    if (this.#id !== NONE) host.netRef(this.#id, isRef);
    return this;
  }

  ref() {
    return this.#setRef(true);
  }

  unref() {
    return this.#setRef(false);
  }

  address() {
    if (this.#id === NONE) return {};
    this.#sockname ??= host.netAddress(this.#id, false);
    return named(this.#sockname);
  }

  #peer() {
    if (this.#id !== NONE && !this.connecting) this.#peername ??= host.netAddress(this.#id, true);
    return named(this.#peername);
  }

  get remoteAddress() {
    return this.#peer().address;
  }

  get remotePort() {
    return this.#peer().port;
  }

  get remoteFamily() {
    return this.#peer().family;
  }

  get localAddress() {
    return this.address().address;
  }

  get localPort() {
    return this.address().port;
  }

  get localFamily() {
    return this.address().family;
  }

  get bytesWritten() {
    const { buffered } = this._writableState;
    const sent = this.#id === NONE ? this.#closedWritten : host.netWritten(this.#id);
    const waiting = buffered.reduce((sum, one) => sum + Buffer.byteLength(one.chunk, one.encoding), 0);
    return sent + this.#pendingLength + waiting;
  }

  get bufferSize() {
    return this.#id === NONE ? undefined : this.writableLength;
  }

  get pending() {
    return this.#id === NONE || this.connecting;
  }

  get readyState() {
    if (this.connecting) return "opening";
    if (this.readable && this.writable) return "open";
    if (this.readable) return "readOnly";
    return this.writable ? "writeOnly" : "closed";
  }
}

// What is written, as the host takes it.
function toBytes(chunk, encoding) {
  if (Array.isArray(chunk)) return chunk.map((one) => toBytes(one.chunk, one.encoding));
  if (typeof chunk !== "string" || !encoding || encoding === "utf8") return chunk;
  return Buffer.from(chunk, encoding);
}

function named(address) {
  return address === undefined ? {} : { address: address[0], family: address[2], port: address[1] };
}

module.exports = { CLOSED, CONNECTION, Socket, checkPort, handles, kHandle, named, normalize };

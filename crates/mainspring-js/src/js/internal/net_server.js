"use strict";

const EventEmitter = require("events");
const {
  codeError, invalidArgType, invalidArgValue, validateAbortSignal, validateFunction,
} = require("internal/errors");
const { errnoError, listenError } = require("internal/net_errors");
const { CLOSED, CONNECTION, Socket, checkPort, handles, kHandle, named, normalize } =
  require("internal/net_socket");
const { nextTick } = require("internal/task_queues");

const NONE = -1;
const BACKLOG = 511;

class Server extends EventEmitter {
  #id = NONE;
  #path = null;
  #isLookingUp = false;
  #isRef = true;
  #options;
  #connections = 0;

  constructor(options, listener) {
    super();
    let onConnection = listener;
    let given = options;
    if (typeof options === "function") {
      onConnection = options;
      given = {};
    } else if (options != null && typeof options !== "object") {
      throw invalidArgType("options", "Object", options);
    }
    if (typeof onConnection === "function") this.on("connection", onConnection);
    this.#options = given ?? {};
    this.allowHalfOpen = this.#options.allowHalfOpen ?? false;
    this.pauseOnConnect = Boolean(this.#options.pauseOnConnect);
    this.maxConnections = undefined;
  }

  get listening() {
    return this.#id !== NONE;
  }

  listen(...args) {
    const [options, callback] = normalize(args);
    if (this.#id !== NONE || this.#isLookingUp) {
      const message = "Listen method has been called more than once without closing.";
      throw codeError(Error, "ERR_SERVER_ALREADY_LISTEN", message);
    }
    if (callback !== null) this.once("listening", callback);
    const backlog = options.backlog ?? backlogOf(args) ?? BACKLOG;
    if (options.signal !== undefined) {
      validateAbortSignal(options.signal, "options.signal");
      const onAbort = () => this.close();
      if (options.signal.aborted) nextTick(onAbort);
      else {
        options.signal.addEventListener("abort", onAbort, { once: true });
        this.once("close", () => options.signal.removeEventListener("abort", onAbort));
      }
    }
    const isAny = args.length === 0 || typeof args[0] === "function" ||
      ("port" in options && options.port == null);
    if (isAny || typeof options.port === "number" || typeof options.port === "string") {
      const port = isAny ? 0 : checkPort(options.port, "options.port");
      if (options.host) this.#lookUp(options.host, port, backlog, options);
      else this.#listenAnywhere(port, backlog, options);
      return this;
    }
    if (typeof options.path === "string" && Number.isNaN(Number(options.path))) {
      this.#start(host.netListenPath(options.path, backlog), options.path, -1);
      return this;
    }
    if (!("port" in options || "path" in options)) {
      throw invalidArgValue("options", options, 'must have the property "port" or "path"');
    }
    throw invalidArgValue("options", options);
  }

  #lookUp(name, port, backlog, { ipv6Only = false }) {
    const onFound = (error, found) => {
      // It may have been closed meanwhile.
      if (!this.#isLookingUp) return;
      this.#isLookingUp = false;
      if (error) this.emit("error", error);
      else this.#start(host.netListen(found[0], port, backlog, ipv6Only), found[0], port);
    };
    this.#isLookingUp = true;
    if (host.netIsIP(name) !== 0) nextTick(onFound, null, [name]);
    else host.netLookup(name, 0, onFound);
  }

  // Under both versions, if the system has both.
  #listenAnywhere(port, backlog, { ipv6Only = false }) {
    const both = host.netListen("::", port, backlog, ipv6Only);
    if (both >= 0) this.#start(both, null, port);
    else {
      const four = host.netListen("0.0.0.0", port, backlog, false);
      this.#start(four, four >= 0 ? null : "::", port);
    }
  }

  #start(id, address, port) {
    this.#path = port < 0 ? address : null;
    if (id < 0) {
      const error = listenError(id, address, port);
      nextTick(() => this.emit("error", error));
      return;
    }
    this.#id = id;
    handles[id] = this;
    if (!this.#isRef) host.netRef(id, false);
    nextTick(() => {
      if (this.#id !== NONE) this.emit("listening");
    });
  }

  _onEvent(event, value) {
    if (event === CONNECTION) this.#onConnection(value);
    else if (event === CLOSED) this.#closeIfDrained();
  }

  #onConnection(id) {
    if (id < 0) {
      this.emit("error", errnoError(id, "accept"));
      return;
    }
    if (this.maxConnections != null && this.#connections >= this.maxConnections) {
      const [localAddress, localPort, localFamily] = host.netAddress(id, false) ?? [];
      const [remoteAddress, remotePort, remoteFamily] = host.netAddress(id, true) ?? [];
      host.netClose(id, false);
      this.emit("drop", { localAddress, localPort, localFamily, remoteAddress, remotePort, remoteFamily });
      return;
    }
    const { noDelay, keepAlive, keepAliveInitialDelay, highWaterMark } = this.#options;
    const socket = new Socket({
      [kHandle]: id,
      allowHalfOpen: this.allowHalfOpen,
      pauseOnCreate: this.pauseOnConnect,
      noDelay,
      keepAlive,
      keepAliveInitialDelay,
      highWaterMark,
    });
    this.#connections++;
    socket.server = this;
    socket._server = this;
    this.emit("connection", socket);
  }

  _onSocketClosed() {
    this.#connections--;
    this.#closeIfDrained();
  }

  #closeIfDrained() {
    if (this.#id !== NONE || this.#connections > 0) return;
    nextTick(() => this.emit("close"));
  }

  close(callback) {
    if (typeof callback === "function") {
      if (this.#id !== NONE) this.once("close", callback);
      else {
        this.once("close", () => {
          callback(codeError(Error, "ERR_SERVER_NOT_RUNNING", "Server is not running."));
        });
      }
    }
    this.#isLookingUp = false;
    if (this.#id !== NONE) {
      handles[this.#id] = undefined;
      host.netClose(this.#id, false);
      this.#id = NONE;
    }
    this.#closeIfDrained();
    return this;
  }

  address() {
    if (this.#path !== null) return this.#path;
    return this.#id === NONE ? null : named(host.netAddress(this.#id, false));
  }

  getConnections(callback) {
    validateFunction(callback, "callback");
    nextTick(callback, null, this.#connections);
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

  // With captureRejections: a listener of 'connection' that fails ends its connection.
  [Symbol.for("nodejs.rejection")](error, event, socket) {
    if (event === "connection") socket.destroy(error);
    else this.emit("error", error);
  }

  [Symbol.for("nodejs.asyncDispose")]() {
    if (this.#id === NONE) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.close((error) => (error ? reject(error) : resolve()));
    });
  }
}

// `(port, backlog)`, `(port, host, backlog)` or `(path, backlog)`.
function backlogOf(args) {
  if (args[0] !== null && typeof args[0] === "object") return undefined;
  const found = typeof args[1] === "number" ? args[1] : args[2];
  return typeof found === "number" ? found : undefined;
}

module.exports = { Server };

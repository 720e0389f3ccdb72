"use strict";

// Sockets. They are no streams of a module `stream`, which there is none of, but behave as Node's sockets do.

const { Server: ServerClass } = require("internal/net_server");
const { Socket: SocketClass, normalize } = require("internal/net_socket");

// Node's are functions, which may be called without `new`.
function callable(Class) {
  const both = new Proxy(Class, { apply: (target, receiver, args) => new Class(...args) });
  Object.defineProperty(Class.prototype, "constructor", { value: both });
  return both;
}

const Server = callable(ServerClass);
const Socket = callable(SocketClass);

function connect(...args) {
  const [options, callback] = normalize(args);
  const socket = new Socket(options);
  if (options.timeout) socket.setTimeout(options.timeout);
  return callback === null ? socket.connect(options) : socket.connect(options, callback);
}

const isIP = (text) => host.netIsIP(`${text}`);

module.exports = {
  Server,
  Socket,
  Stream: Socket,
  connect,
  createConnection: connect,
  createServer: (options, listener) => new Server(options, listener),
  isIP,
  isIPv4: (text) => isIP(text) === 4,
  isIPv6: (text) => isIP(text) === 6,
};

for (const name of [
  "getDefaultAutoSelectFamily", "getDefaultAutoSelectFamilyAttemptTimeout", "setDefaultAutoSelectFamily",
  "setDefaultAutoSelectFamilyAttemptTimeout",
]) {
  module.exports[name] = (value) => require("internal/net_select")[name](value);
}

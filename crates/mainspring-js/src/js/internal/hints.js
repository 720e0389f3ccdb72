"use strict";

// What to do about errors that come from what browsers and Node have and this runtime has not. The globals are
// missing, so that scripts that look before they use one find that out.

const client = "use node:net, or a client that is written on it";
const stream = "use node:events, async iterators, or the sockets of node:net";
const globals = {
  __proto__: null,
  WebAssembly: "run such modules by a program of their own",
  fetch: client,
  Headers: client,
  Request: client,
  Response: client,
  FormData: client,
  ReadableStream: stream,
  WritableStream: stream,
  TransformStream: stream,
};
const modules =
  "async_hooks child_process cluster dgram diagnostics_channel dns http http2 https inspector readline repl " +
  "stream tls tty v8 wasi worker_threads zlib";

function missingGlobal(error) {
  const name = /^'?(\w+)'? is not defined$/.exec(error.message)?.[1];
  if (globals[name] === undefined) return undefined;
  return `${name} is not part of this runtime: ${globals[name]}.`;
}

function missingModule(error) {
  const name = /(?: '(?:node:)?|: node:)(\w+)/.exec(error.message)?.[1];
  if (name !== undefined && modules.split(" ").includes(name)) return `${name} is not part of this runtime.`;
  if (error.code !== "MODULE_NOT_FOUND" || error.requireStack?.length !== 0) return undefined;
  return `There is no such file: check its name. The current directory is ${host.cwd()}`;
}

// A sentence for the person who reads the error, if there is something to say.
function hint(error) {
  if (error instanceof ReferenceError) return missingGlobal(error);
  return /MODULE/.test(error?.code) && error instanceof Error ? missingModule(error) : undefined;
}

module.exports = { hint };

"use strict";

// What browsers and Node have and this runtime has not. The globals are missing, so that scripts that look before
// they use one find that out; whoever uses one nevertheless is told what to do.
const client = "use node:net, or a client that is written on it";
const stream = "use node:events, async iterators, or the sockets of node:net";
const absent = {
  __proto__: null,
  WebAssembly: "run such modules by a program of their own",
  fetch: client,
  Headers: client,
  Request: client,
  Response: client,
  FormData: client,
  WebSocket: client,
  ReadableStream: stream,
  WritableStream: stream,
  TransformStream: stream,
};

// A sentence for an error that comes from using one of them; otherwise undefined.
function hint(error) {
  const name = /^'?(\w+)'? is not defined$/.exec(error?.message)?.[1];
  if (absent[name] === undefined || !(error instanceof ReferenceError)) return undefined;
  return `${name} is not part of this runtime yet: ${absent[name]}`;
}

module.exports = { hint };

"use strict";

// Lets `prototype` inherit from EventEmitter when that is first needed: most scripts never do, and start
// sooner without `events`. Until then a proxy stands in its place.
function lazyEmitter(prototype, ready = undefined) {
  const base = () => {
    const EventEmitter = require("events");
    if (Object.getPrototypeOf(prototype) !== EventEmitter.prototype) {
      Object.setPrototypeOf(prototype, EventEmitter.prototype);
      ready?.();
    }
    return EventEmitter.prototype;
  };
  const handler = {
    get(_, key, receiver) {
      return key in Object.prototype ? Object.prototype[key] : Reflect.get(base(), key, receiver);
    },
    has: (_, key) => Reflect.has(base(), key),
    getPrototypeOf: base,
  };
  Object.setPrototypeOf(prototype, new Proxy({}, handler));
}

module.exports = { lazyEmitter };

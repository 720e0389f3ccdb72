"use strict";

// The environment: all its values are strings. Changes are seen by this script only.
function open(variables) {
  const set = (target, key, value) => {
    if (typeof key === "symbol" || typeof value === "symbol") {
      throw new TypeError("Cannot convert a Symbol value to a string");
    }
    target[key] = `${value}`;
    return true;
  };
  return new Proxy(variables, {
    set,
    defineProperty(target, key, descriptor) {
      const refused = refusal(descriptor);
      if (refused === undefined) return set(target, key, descriptor.value);
      const { codeError } = require("internal/errors");
      throw codeError(TypeError, "ERR_INVALID_OBJECT_DEFINE_PROPERTY", `'process.env' ${refused}`);
    },
  });
}

function refusal({ configurable, enumerable, get, set, writable }) {
  if (get !== undefined || set !== undefined) return "does not accept an accessor(getter/setter) descriptor";
  if (configurable && enumerable && writable) return undefined;
  return "only accepts a configurable, writable, and enumerable data descriptor";
}

module.exports = { open };

"use strict";

// The `require` of the modules that are built in. It is the one that an engine evaluates first.

const loaded = Object.create(null);

module.exports = function require(name) {
  const known = loaded[name];
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  loaded[name] = module;
  try {
    host.builtin(name)(module.exports, require, module, host);
  } catch (error) {
    delete loaded[name];
    throw error;
  }
  return module.exports;
};

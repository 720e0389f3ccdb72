"use strict";

// What the engine's loader of ES modules asks for.

const classes = { __proto__: null, Error, RangeError, SyntaxError, TypeError };

function error(name, code, message, properties) {
  const Base = classes[name] ?? Error;
  if (code === undefined) return Object.assign(new Base(message), properties);
  return require("internal/errors").codeError(Base, code, message, properties);
}

function own(object, name) {
  try {
    return Object.hasOwn(object, name) ? object[name] : undefined;
  } catch {
    return undefined;
  }
}

function values(exported, names) {
  const object = Object(exported);
  return names.map((name) => (name === "default" ? exported : own(object, name)));
}

// The exports of a CommonJS file, by these names.
function commonjs(path, names) {
  return values(require("internal/cjs").loadForImport(path), names);
}

function builtin(name) {
  const exported = require(name);
  const names = Object.keys(exported).filter((key) => key !== "default");
  names.push("default");
  return [names, values(exported, names)];
}

function json(text, path) {
  return [path === undefined ? JSON.parse(text) : require("internal/cjs").loadJson(path, text)];
}

// Fills `import.meta`.
function meta(object, url, path) {
  if (path !== undefined) {
    object.dirname = path.slice(0, path.lastIndexOf("/")) || "/";
    object.filename = path;
  }
  object.resolve = function resolve(specifier) {
    try {
      return host.resolveUrl(`${specifier}`, url);
    } catch (failure) {
      const { code, ...properties } = failure;
      throw error(failure.name, code, failure.message, properties);
    }
  };
  object.url = url;
}

module.exports = {
  builtin,
  commonjs,
  error,
  json,
  meta,
  explain(failure) {
    if (failure instanceof ReferenceError) require("internal/esm_errors").explain(failure);
  },
  linkError: (failure, requests) => require("internal/esm_errors").linkError(failure, requests),
};

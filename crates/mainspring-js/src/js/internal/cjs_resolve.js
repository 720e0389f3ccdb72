"use strict";

// What of `require` few scripts use: its errors, `require.resolve` and `createRequire`.

const { Module, makeRequire, nodeModulePaths } = require("internal/cjs");
const { invalidArgType, invalidArgValue } = require("internal/errors");

// An error of an operation as Node throws it.
function resolveError(failure, parent) {
  const { code, ...properties } = failure;
  if (code === undefined) return failure;
  if (code !== "MODULE_NOT_FOUND") {
    return require("internal/esm").error(failure.name, code, failure.message, properties);
  }
  let { message } = failure;
  if (properties.path === undefined) {
    const requireStack = [];
    for (let at = parent; at; at = at.parent) requireStack.push(at.filename ?? at.id);
    if (requireStack.length > 0) message += `\nRequire stack:\n- ${requireStack.join("\n- ")}`;
    properties.requireStack = requireStack;
  }
  return Object.assign(new Error(message), { code }, properties);
}

// A file with an extension that the script has registered, if there is one. It failed without.
function resolveRegistered(failure, specifier, parent) {
  const extensions = failure.code === "MODULE_NOT_FOUND" ? Object.keys(Module._extensions) : [];
  for (const extension of extensions) {
    if (extension === ".js" || extension === ".json") continue;
    try {
      return host.resolveModule(specifier + extension, parent?.filename ?? parent?.id ?? "", "require");
    } catch {
      // The first failure is the one to tell of.
    }
  }
  throw resolveError(failure, parent);
}

function resolveRequest(module, request, options) {
  if (typeof request !== "string") throw invalidArgType("request", "string", request);
  if (options?.paths === undefined) return Module._resolveFilename(request, module);
  if (!Array.isArray(options.paths)) throw invalidArgValue("options.paths", options.paths);
  for (const path of options.paths) {
    if (typeof path !== "string") throw invalidArgType("options.paths[]", "string", path);
    try {
      return Module._resolveFilename(request, { filename: `${path}/[resolve]` });
    } catch (failure) {
      if (failure.code !== "MODULE_NOT_FOUND") throw failure;
    }
  }
  const failure = new Error(`Cannot find module '${request}'`);
  throw resolveError(Object.assign(failure, { code: "MODULE_NOT_FOUND" }), module);
}

function lookupPaths(module, request) {
  if (typeof request !== "string") throw invalidArgType("request", "string", request);
  if (host.builtinNames().includes(request.replace(/^node:/, ""))) return null;
  return /^\.{1,2}(\/|$)/.test(request) ? [module.path] : nodeModulePaths(module.path);
}

function createRequire(file) {
  let filename = typeof file?.href === "string" ? file.href : file;
  if (typeof filename === "string" && filename.startsWith("file:")) {
    filename = require("url").fileURLToPath(filename);
  }
  if (typeof filename !== "string" || !filename.startsWith("/")) {
    const expected = "must be a file URL object, file URL string, or absolute path string";
    throw invalidArgValue("filename", file, expected);
  }
  const module = new Module(filename.endsWith("/") ? `${filename}noop.js` : filename);
  module.filename = module.id;
  module.paths = nodeModulePaths(module.path);
  return makeRequire(module);
}

module.exports = { createRequire, lookupPaths, resolveError, resolveRegistered, resolveRequest };

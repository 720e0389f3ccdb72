"use strict";

// CommonJS: `module`, `require`, and the cache that they share.

const wrapper = ["exports", "require", "module", "__filename", "__dirname"];
const cache = Object.create(null);
let mainModule;

function dirname(file) {
  const end = file.lastIndexOf("/");
  return end > 0 ? file.slice(0, end) : end === 0 ? "/" : ".";
}

function Module(id = "", parent = undefined) {
  this.id = id;
  this.path = dirname(id);
  this.exports = {};
  Object.defineProperty(this, "parent", { value: parent, writable: true, enumerable: false, configurable: true });
  parent?.children?.push(this);
  this.filename = null;
  this.loaded = false;
  this.children = [];
}

// Where packages are looked for from a directory.
function nodeModulePaths(from) {
  const paths = [];
  for (let dir = from; ; dir = dirname(dir)) {
    if (!dir.endsWith("/node_modules")) paths.push(dir === "/" ? "/node_modules" : `${dir}/node_modules`);
    if (dir === "/" || dir === ".") return paths;
  }
}

// The error that an operation threw, as Node throws it.
function resolveError(failure, specifier, parent) {
  const { code, ...properties } = failure;
  if (code === undefined) return failure;
  if (code !== "MODULE_NOT_FOUND") return require("internal/esm").error(failure.name, code, failure.message, properties);
  let { message } = failure;
  if (properties.path === undefined) {
    const requireStack = [];
    for (let at = parent; at; at = at.parent) requireStack.push(at.filename ?? at.id);
    if (requireStack.length > 0) message += `\nRequire stack:\n- ${requireStack.join("\n- ")}`;
    properties.requireStack = requireStack;
  }
  return Object.assign(new Error(message), { code }, properties);
}

function resolve(specifier, parent) {
  try {
    return host.resolveModule(specifier, parent?.filename ?? parent?.id ?? "", "require");
  } catch (failure) {
    throw resolveError(failure, specifier, parent);
  }
}

Module._cache = cache;
Module._nodeModulePaths = nodeModulePaths;
Module._resolveFilename = (specifier, parent) => {
  const { path, format } = resolve(specifier, parent);
  return format === "builtin" && specifier.startsWith("node:") ? specifier : path;
};

Module._load = (specifier, parent, isMain = false) => {
  const known = parent?.[resolved]?.get(specifier);
  const filename = known !== undefined && cache[known] ? known : Module._resolveFilename(specifier, parent, isMain);
  if (!filename.startsWith("/")) return require(filename.startsWith("node:") ? filename.slice(5) : filename);
  parent?.[resolved]?.set(specifier, filename);
  const cached = cache[filename];
  if (cached !== undefined) {
    if (parent?.children && !parent.children.includes(cached)) parent.children.push(cached);
    return cached.exports;
  }
  const module = new Module(filename, parent);
  if (isMain) setMain(module);
  cache[filename] = module;
  let isDone = false;
  try {
    module.load(filename);
    isDone = true;
  } finally {
    if (!isDone) {
      delete cache[filename];
      const at = parent?.children?.indexOf(module) ?? -1;
      if (at >= 0) parent.children.splice(at, 1);
    }
  }
  return module.exports;
};

// What a module has resolved before, so that it is not looked for on the disk again.
const resolved = Symbol("resolved");

function setMain(module) {
  mainModule = module;
  module.id = ".";
}

Module._extensions = {
  __proto__: null,
  ".js"(module, filename) {
    const { format } = resolve(filename, undefined);
    if (format === "module") requireModule(module, filename);
    else compile(module, host.readSource(filename), filename, format === "unsaid");
  },
  ".json"(module, filename) {
    module.exports = parseJson(filename, host.readSource(filename));
  },
};

function parseJson(filename, text) {
  try {
    return JSON.parse(text);
  } catch (failure) {
    failure.message = `${filename}: ${failure.message}`;
    throw failure;
  }
}

function requireModule(module, filename) {
  const namespace = host.requireModule(filename, module.parent?.filename ?? undefined);
  module.exports = "module.exports" in namespace ? namespace["module.exports"] : namespace;
}

// A source that nothing but its syntax tells to be a module.
function isModuleSource(source) {
  return host.hasModuleSyntax(source) || host.parsesAsModule(source);
}

// The program turned out to be a module: it is none of ours.
function runMainModule(filename) {
  mainModule = undefined;
  delete cache[filename];
  require("internal/run_main").runModule(host.resolveModule(filename, "", "require").url);
}

function compile(module, source, filename, mayBeModule) {
  let run;
  try {
    const script = source.startsWith("#!") ? `//${source}` : source;
    run = host.compile(script, filename, wrapper);
  } catch (failure) {
    if (!mayBeModule || !(failure instanceof SyntaxError) || !isModuleSource(source)) throw failure;
    if (module === mainModule) runMainModule(filename);
    else requireModule(module, filename);
    return undefined;
  }
  const { exports } = module;
  return run.call(exports, exports, makeRequire(module), module, filename, dirname(filename));
}

Module.prototype = {
  constructor: Module,
  load(filename) {
    this.filename = filename;
    this.paths = nodeModulePaths(dirname(filename));
    Object.defineProperty(this, resolved, { value: new Map(), configurable: true });
    const [extension] = /\.[^./]+$/.exec(filename) ?? [];
    const load = Module._extensions[extension] ?? Module._extensions[".js"];
    load(this, filename);
    this.loaded = true;
  },
  require(id) {
    if (typeof id !== "string") throw require("internal/errors").invalidArgType("id", "string", id);
    if (id === "") {
      throw require("internal/errors").invalidArgValue("id", id, "must be a non-empty string");
    }
    return Module._load(id, this);
  },
  _compile(source, filename) {
    return compile(this, source, filename, false);
  },
};
Object.defineProperty(Module.prototype, "constructor", { enumerable: false });

function makeRequire(module) {
  function require(id) {
    return module.require(id);
  }
  require.resolve = (request, options = undefined) => resolveRequest(module, request, options);
  require.resolve.paths = (request) => lookupPaths(module, request);
  require.main = mainModule;
  require.extensions = Module._extensions;
  require.cache = cache;
  return require;
}

function resolveRequest(module, request, options) {
  if (typeof request !== "string") throw require("internal/errors").invalidArgType("request", "string", request);
  if (options?.paths === undefined) return Module._resolveFilename(request, module);
  for (const path of options.paths) {
    try {
      return Module._resolveFilename(request, { filename: `${path}/[resolve]` });
    } catch (failure) {
      if (failure.code !== "MODULE_NOT_FOUND") throw failure;
    }
  }
  throw resolveError(Object.assign(new Error(`Cannot find module '${request}'`), { code: "MODULE_NOT_FOUND" }), request, module);
}

function lookupPaths(module, request) {
  if (typeof request !== "string") throw require("internal/errors").invalidArgType("request", "string", request);
  if (host.builtinNames().includes(request.replace(/^node:/, ""))) return null;
  if (/^\.{1,2}(\/|$)/.test(request)) return [module.path];
  return nodeModulePaths(module.path);
}

function createRequire(file) {
  let filename = file;
  if (typeof file === "object" && file !== null && typeof file.href === "string") filename = file.href;
  if (typeof filename === "string" && filename.startsWith("file:")) filename = require("url").fileURLToPath(filename);
  if (typeof filename !== "string" || !filename.startsWith("/")) {
    throw require("internal/errors").invalidArgValue(
      "filename",
      file,
      "must be a file URL object, file URL string, or absolute path string",
    );
  }
  const module = new Module(filename.endsWith("/") ? `${filename}noop.js` : filename);
  module.filename = module.id;
  module.paths = nodeModulePaths(module.path);
  return makeRequire(module);
}

// The exports of a file, for an ES module that imports it.
function loadForImport(filename) {
  return Module._load(filename, undefined);
}

// The same value for `import` and `require`.
function loadJson(filename, text) {
  const known = cache[filename];
  if (known?.loaded) return known.exports;
  const module = new Module(filename);
  module.filename = filename;
  module.exports = parseJson(filename, text);
  module.loaded = true;
  cache[filename] = module;
  return module.exports;
}

// Runs a file as the program.
function runMain(filename) {
  Module._load(filename, undefined, true);
}

module.exports = {
  Module,
  compile,
  createRequire,
  isModuleSource,
  loadForImport,
  loadJson,
  makeRequire,
  main: () => mainModule,
  resolveError,
  runMain,
};

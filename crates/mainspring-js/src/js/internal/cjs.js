"use strict";

// CommonJS: `module`, `require`, and the cache that they share.

const wrapper = ["exports", "require", "module", "__filename", "__dirname"];
const cache = Object.create(null);
// What a module has resolved before, so that it is not looked for on the disk again.
const resolved = Symbol("resolved");
let mainModule;

function hide(object, key, value) {
  Object.defineProperty(object, key, { value, writable: true, enumerable: false, configurable: true });
}

function dirname(file) {
  const end = file.lastIndexOf("/");
  return end > 0 ? file.slice(0, end) : end === 0 ? "/" : ".";
}

function Module(id = "", parent = undefined) {
  this.id = id;
  this.path = dirname(id);
  this.exports = {};
  hide(this, "parent", parent);
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

function resolve(specifier, parent) {
  try {
    return host.resolveModule(specifier, parent?.filename ?? parent?.id ?? "", "require");
  } catch (failure) {
    return extra().resolveRegistered(failure, specifier, parent);
  }
}

function requireModule(module, filename) {
  const namespace = host.requireModule(filename, module.parent?.filename ?? undefined);
  module.exports = "module.exports" in namespace ? namespace["module.exports"] : namespace;
}

// The program turned out to be a module: it is none of ours.
function runMainModule(filename) {
  mainModule = undefined;
  delete cache[filename];
  require("internal/run_main").runModule(resolve(filename).url);
}

// Runs a source. If it is a module, as nothing but its syntax tells, it is run as such.
function compile(module, source, filename, mayBeModule) {
  let run;
  try {
    run = host.compile(source.startsWith("#!") ? `//${source}` : source, filename, wrapper);
  } catch (failure) {
    const isModule = mayBeModule && (host.hasModuleSyntax(source) || host.parsesAsModule(source));
    if (!isModule) throw failure;
    if (module === mainModule) runMainModule(filename);
    else requireModule(module, filename);
    return undefined;
  }
  const { exports } = module;
  return run.call(exports, exports, makeRequire(module), module, filename, dirname(filename));
}

// The longest end of a name that something is registered for.
function registeredExtension(filename) {
  const name = filename.slice(filename.lastIndexOf("/") + 1);
  for (let at = name.indexOf(".", 1); at > 0; at = name.indexOf(".", at + 1)) {
    const extension = name.slice(at);
    if (Module._extensions[extension]) return extension;
  }
  return ".js";
}

function parseJson(filename, text) {
  try {
    return JSON.parse(text);
  } catch (failure) {
    failure.message = `${filename}: ${failure.message}`;
    throw failure;
  }
}

Module.prototype = {
  load(filename) {
    this.filename = filename;
    this.paths = nodeModulePaths(dirname(filename));
    hide(this, resolved, new Map());
    Module._extensions[registeredExtension(filename)](this, filename);
    this.loaded = true;
  },
  require(id) {
    if (typeof id !== "string") throw require("internal/errors").invalidArgType("id", "string", id);
    if (id === "") throw require("internal/errors").invalidArgValue("id", id, "must be a non-empty string");
    return Module._load(id, this);
  },
  _compile(source, filename) {
    return compile(this, source, filename, false);
  },
};
hide(Module.prototype, "constructor", Module);

Object.assign(Module, {
  _cache: cache,
  _nodeModulePaths: nodeModulePaths,
  _extensions: {
    __proto__: null,
    ".js"(module, filename) {
      const format = host.moduleFormat(filename);
      if (format === "module") requireModule(module, filename);
      else compile(module, host.readSource(filename), filename, format === "unsaid");
    },
    ".json"(module, filename) {
      module.exports = parseJson(filename, host.readSource(filename));
    },
  },
  _resolveFilename(specifier, parent) {
    const { path, format } = resolve(specifier, parent);
    return format === "builtin" && specifier.startsWith("node:") ? specifier : path;
  },
  _load(specifier, parent, isMain = false) {
    const known = parent?.[resolved]?.get(specifier);
    const filename =
      known !== undefined && known in cache ? known : Module._resolveFilename(specifier, parent, isMain);
    const cached = cache[filename];
    if (!filename.startsWith("/") && cached === undefined) return require(filename.replace("node:", ""));
    parent?.[resolved]?.set(specifier, filename);
    if (cached === undefined) return load(filename, parent, isMain);
    if (parent?.children && !parent.children.includes(cached)) parent.children.push(cached);
    return cached.exports;
  },
});

function load(filename, parent, isMain) {
  const module = new Module(filename, parent);
  if (isMain) {
    mainModule = module;
    module.id = ".";
  }
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
}

function makeRequire(module) {
  const require = (id) => module.require(id);
  const resolve = (request, options) => extra().resolveRequest(module, request, options);
  resolve.paths = function paths(request) {
    return extra().lookupPaths(module, request);
  };
  return Object.assign(require, { resolve, main: mainModule, extensions: Module._extensions, cache });
}

// What few scripts use.
function extra() {
  return require("internal/cjs_resolve");
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

module.exports = {
  Module,
  loadForImport: (filename) => Module._load(filename, undefined),
  loadJson,
  makeRequire,
  mainModule: () => mainModule,
  nodeModulePaths,
  runMain: (filename) => load(filename, null, true),
};

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

function json(url, text) {
  if (!url.startsWith("file:")) return [JSON.parse(text)];
  return [require("internal/cjs").loadJson(host.resolveModule(url, "", "import").path, text)];
}

// Fills `import.meta`.
function meta(object, url) {
  if (url.startsWith("file:")) {
    const { path } = host.resolveModule(url, "", "import");
    object.dirname = require("path").dirname(path);
    object.filename = path;
  }
  object.resolve = function resolve(specifier) {
    try {
      return host.resolveUrl(`${specifier}`, url);
    } catch (failure) {
      const { name, code, message, ...properties } = failure;
      throw error(failure.name, code, failure.message, properties);
    }
  };
  object.url = url;
}

// Says more of an error by which a module failed that uses what only CommonJS has.
function explain(failure) {
  if (!(failure instanceof ReferenceError)) return;
  const [, name] = /^(require|module|exports|__filename|__dirname) is not defined$/.exec(failure.message) ?? [];
  if (name === undefined) return;
  let message = `${failure.message} in ES module scope`;
  if (name === "require") message += ", you can use import instead";
  const [, url] = /^ {4}at (?:.*? \()?(file:.+?):\d+:\d+\)?$/m.exec(failure.stack) ?? [];
  const file = url?.endsWith(".js") ? host.packageOf(url) : undefined;
  if (file !== undefined) {
    message +=
      "\nThis file is being treated as an ES module because it has a '.js' file extension and " +
      `'${file}' contains "type": "module". To treat it as a CommonJS script, rename it to use the ` +
      "'.cjs' file extension.";
  }
  failure.message = message;
}

// Where a name stands in the statement that imports it.
function place(importer, specifier, name) {
  let source;
  try {
    source = host.readSource(host.resolveModule(importer, "", "import").path);
  } catch {
    return undefined;
  }
  const wanted = name === "default" ? "[\\w$]+" : name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  const from = specifier.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  const statement = new RegExp(
    `\\b(?:import|export)\\b([^;'"]*?[\\s{,])(${wanted})(?=[\\s,}])[^;'"]*?\\bfrom\\s*['"]${from}['"]`,
  ).exec(source);
  if (statement === null) return undefined;
  const at = statement.index + 6 + statement[1].length;
  const before = source.slice(0, at).split("\n");
  return `    at ${importer}:${before.length}:${before.at(-1).length + 1}`;
}

// Node's words for an import of something that is not exported.
function linkError(failure, requests) {
  const missing = /^Could not find export '(.*)' in module '(.*)'$/s.exec(failure?.message);
  const ambiguous = /^export '(.*)' in module '(.*)' is ambiguous$/s.exec(failure?.message);
  const [, name, target] = missing ?? ambiguous ?? [];
  if (name === undefined) return failure;
  const candidates = requests.filter(([, , url]) => url === target);
  for (const [importer, specifier, , isCommonJs] of candidates) {
    const frame = place(importer, specifier, name);
    if (frame === undefined && candidates.length > 1) continue;
    let message = `The requested module '${specifier}' does not provide an export named '${name}'`;
    if (ambiguous) message = `The requested module '${specifier}' contains conflicting star exports for name '${name}'`;
    else if (isCommonJs) {
      message =
        `Named export '${name}' not found. The requested module '${specifier}' is a CommonJS module, which ` +
        "may not support all module.exports as named exports.\nCommonJS modules can always be imported via " +
        `the default export, for example using:\n\nimport pkg from '${specifier}';\nconst {${name}} = pkg;\n`;
    }
    const told = new SyntaxError(message);
    told.stack = frame === undefined ? `SyntaxError: ${message}` : `SyntaxError: ${message}\n${frame}`;
    return told;
  }
  return failure;
}

module.exports = { builtin, commonjs, error, explain, json, linkError, meta };

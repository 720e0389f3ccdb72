"use strict";

// Errors of ES modules, in Node's words.

// Says more of an error by which a module failed that uses what only CommonJS has.
function explain(failure) {
  const global = /^(require|module|exports|__filename|__dirname) is not defined$/;
  const [, name] = global.exec(failure.message) ?? [];
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
  const { message: before, stack } = failure;
  failure.message = message;
  if (typeof stack === "string") failure.stack = stack.replace(before, () => message);
}

// The frame of the place where a module imports a name, and what stands between the braces there.
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
  const [clause] = /\{[^}\n]*\}/.exec(statement[0]) ?? [];
  return { frame: `    at ${importer}:${before.length}:${before.at(-1).length + 1}`, clause };
}

// Node's words for an import of something that is not exported.
function linkError(failure, requests) {
  const missing = /^Could not find export '(.*)' in module '(.*)'$/s.exec(failure?.message);
  const ambiguous = /^export '(.*)' in module '(.*)' is ambiguous$/s.exec(failure?.message);
  const [, name, target] = missing ?? ambiguous ?? [];
  if (name === undefined) return failure;
  const candidates = requests.filter(([, , url]) => url === target);
  for (const [importer, specifier, , isCommonJs] of candidates) {
    const found = place(importer, specifier, name);
    if (found === undefined && candidates.length > 1) continue;
    let message = `The requested module '${specifier}' does not provide an export named '${name}'`;
    if (ambiguous) {
      message = `The requested module '${specifier}' contains conflicting star exports for name '${name}'`;
    } else if (isCommonJs) {
      message =
        `Named export '${name}' not found. The requested module '${specifier}' is a CommonJS module, which ` +
        "may not support all module.exports as named exports.\nCommonJS modules can always be imported via " +
        `the default export, for example using:\n\nimport pkg from '${specifier}';\n`;
      if (found?.clause) message += `const ${found.clause.replace(/\s+as\s+/g, ": ")} = pkg;\n`;
    }
    const told = new SyntaxError(message);
    told.stack = `SyntaxError: ${message}${found ? `\n${found.frame}` : ""}`;
    return told;
  }
  return failure;
}

module.exports = { explain, linkError };

"use strict";

// Code that is in no file: from the command line, from a pipe, or typed.

function defineHidden(name, value) {
  Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
}

// Gives it what a CommonJS file in the current directory would have, and the built-in modules by their names.
function defineGlobals(name) {
  const { globals } = host.options();
  if (!globals.modules) return;
  const { Module, makeRequire } = require("internal/cjs");
  const module = new Module(name);
  module.filename = `${host.cwd()}/${name}`;
  module.paths = Module._nodeModulePaths(host.cwd());
  defineHidden("module", module);
  defineHidden("exports", module.exports);
  defineHidden("require", makeRequire(module));
  defineHidden("__filename", name);
  defineHidden("__dirname", ".");
  for (const library of host.builtinNames()) {
    if (library.includes("/") || library in globalThis) continue;
    Object.defineProperty(globalThis, library, {
      get() {
        const exported = module.require(library);
        defineHidden(library, exported);
        return exported;
      },
      set: (value) => defineHidden(library, value),
      enumerable: false,
      configurable: true,
    });
  }
}

function parses(code, name, hasAwait) {
  try {
    host.checkScript(code, name, hasAwait);
    return true;
  } catch {
    return false;
  }
}

// Whether it is a script only if `await` may stand outside of functions.
function needsAwait(code, name) {
  return /\bawait\b/.test(code) && !parses(code, name, false) && parses(code, name, true);
}

function refuseImports(code, name) {
  if (!/\b(?:import|export)\b/.test(code) || parses(code, name, false)) return;
  if (!host.hasModuleSyntax(code)) return;
  const error = new SyntaxError("Cannot use import statement outside a module: use import(), or a file");
  const line = code.split("\n").findIndex((text) => /^\s*(?:import|export)\b/.test(text)) + 1;
  error.stack = `${error}\n    at ${name}:${line || 1}:1`;
  throw error;
}

function runCode(code, name, prints) {
  const { status, setUnsettledCheck } = require("internal/process");
  status.sourceLine = (file, line) => (file === name ? code.split("\n")[line - 1] : undefined);
  defineGlobals(name);
  const print = (value) => {
    if (prints) console.log(value);
  };
  if (!needsAwait(code, name)) {
    refuseImports(code, name);
    print(host.runLine(code, name, false));
    return;
  }
  let isSettled = false;
  setUnsettledCheck(() => !isSettled);
  host.runLine(code, name, true).then(
    ({ value }) => {
      isSettled = true;
      print(value);
    },
    (error) => {
      isSettled = true;
      require("internal/uncaught").onUncaught(error, "unhandledRejection");
    },
  );
}

module.exports = { defineGlobals, needsAwait, runCode };

"use strict";

// What a person types. The command has the line editor and calls this to evaluate, to print and to complete.

const { defineGlobals, needsAwait } = require("internal/run_code");
const { status } = require("internal/process");

let count = 0;
// Ends the wait for what is awaited.
let cancelWait;
// Names that the person has declared: no object has those of `let`, `const` and `class`.
const declared = new Set();

const keywords = (
  "async await break case catch class const continue debugger default delete do else export extends false " +
  "finally for function if import in instanceof let new null return static super switch this throw true " +
  "try typeof undefined var void while with yield"
).split(" ");
const identifier = "[\\p{ID_Start}$_][\\p{ID_Continue}$]*";
const wholeIdentifier = new RegExp(`^${identifier}$`, "u");
const declaration = new RegExp(`\\b(?:let|const|class|function\\*?|var)\\s+(${identifier})`, "gu");
const lastWord = new RegExp(`((?:${identifier}\\??\\.)*)(${identifier})?$`, "u");

function inspect(value) {
  const colors = require("internal/colors").wantsColors(host.isTTY(1));
  return require("internal/inspect").inspect(value, { colors, showProxy: true });
}

// A global that has the latest of something, until a person gives it another value.
function defineLatest(name) {
  let latest;
  let isTaken = false;
  Object.defineProperty(globalThis, name, {
    get: () => latest,
    set(value) {
      isTaken = true;
      latest = value;
      host.write(1, `${name} is yours from now on.\n`);
    },
    enumerable: false,
    configurable: true,
  });
  return (value) => {
    if (!isTaken) latest = value;
  };
}

let setLastValue;
let setLastError;

function start() {
  defineGlobals("repl");
  setLastValue = defineLatest("_");
  setLastError = defineLatest("_error");
  status.capture = report;
}

function show(value) {
  setLastValue(value);
  host.write(1, `${inspect(value)}\n`);
}

function report(error, source = undefined) {
  setLastError(error);
  let text = `Uncaught ${inspect(error)}`;
  if (error instanceof SyntaxError && source !== undefined) {
    const at = position(error);
    const line = source.split("\n")[at?.line - 1];
    if (line !== undefined) text = `${line}\n${" ".repeat(at.column - 1)}^\n\nUncaught ${error}`;
  }
  const hint = require("internal/hints").hint(error);
  host.write(1, hint === undefined ? `${text}\n` : `${text}\n${hint}\n`);
}

// Where a source was found to be wrong.
function position(error) {
  const found = /^ {4}at (?:.* \()?REPL\d*:(\d+):(\d+)/m.exec(error.stack);
  return found === null ? undefined : { line: Number(found[1]), column: Number(found[2]) };
}

function syntaxError(source, hasAwait) {
  try {
    host.checkScript(source, "REPL", hasAwait);
    return undefined;
  } catch (error) {
    return error;
  }
}

// What begins with a brace is taken for an object, if it can be one.
function asObject(source) {
  return /^\s*\{/.test(source) && !/;\s*$/.test(source) ? `(${source}\n)` : undefined;
}

// Whether an error says that the source ended too soon.
function isAtEnd(error, source) {
  if (/^unexpected end of comment/.test(error.message)) return true;
  const at = position(error);
  if (at === undefined) return false;
  const lines = source.trimEnd().split("\n");
  if (/^unexpected end of string/.test(error.message)) {
    return [...lines[at.line - 1]][at.column - 1] === "`" || source.endsWith("\\");
  }
  return at.line > lines.length || (at.line === lines.length && at.column > [...lines.at(-1)].length);
}

// Whether more lines have to follow.
function isIncomplete(source) {
  const wrapped = asObject(source);
  if (wrapped !== undefined) {
    const error = syntaxError(wrapped, /\bawait\b/.test(source));
    if (error === undefined) return false;
    if (isAtEnd(error, `(${source}`)) return true;
  }
  const error = syntaxError(source, false);
  if (error === undefined) return false;
  if (isAtEnd(error, source)) return true;
  if (!/\bawait\b/.test(source)) return false;
  const other = syntaxError(source, true);
  return other !== undefined && isAtEnd(other, source);
}

function remember(source) {
  for (const [, name] of source.matchAll(declaration)) declared.add(name);
  for (const [, names] of source.matchAll(/\b(?:let|const|var)\s*[[{]([^\]}]*)[\]}]\s*=/g)) {
    for (const name of names.matchAll(/([\w$]+)\s*(?:[,=]|$)/g)) declared.add(name[1]);
  }
}

// Evaluates and prints. True if that goes on, until `done` is called.
function evaluate(source, done) {
  const name = `REPL${++count}`;
  const object = asObject(source);
  const isObject = object !== undefined && syntaxError(object, /\bawait\b/.test(object)) === undefined;
  const code = isObject ? object : source;
  remember(source);
  try {
    if (!needsAwait(code, name)) {
      show(host.runLine(code, name, false));
      return false;
    }
    const end = (then) => {
      if (cancelWait !== cancel) return;
      cancelWait = undefined;
      then();
      done();
    };
    const cancel = () => end(() => {});
    cancelWait = cancel;
    host.runLine(code, name, true).then(
      ({ value }) => end(() => show(value)),
      (error) => end(() => report(error, source)),
    );
    return true;
  } catch (error) {
    report(error, source);
    return false;
  }
}

// Gives up what is awaited. False if nothing is.
function cancel() {
  if (cancelWait === undefined) return false;
  cancelWait();
  return true;
}

// The value of a property, unless asking for it would run something of the person's.
function property(object, name) {
  for (let at = Object(object); at !== null; at = Object.getPrototypeOf(at)) {
    if (host.details(at)?.[0] === "Proxy") return undefined;
    const found = Object.getOwnPropertyDescriptor(at, name);
    if (found === undefined) continue;
    return "value" in found || at === globalThis || at === status.object ? at[name] : undefined;
  }
  return undefined;
}

function propertyNames(object) {
  const names = [];
  for (let at = Object(object); at !== null; at = Object.getPrototypeOf(at)) {
    if (host.details(at)?.[0] === "Proxy") break;
    const own = Object.getOwnPropertyNames(at);
    names.push(...own.filter((name) => wholeIdentifier.test(name)).sort());
  }
  return names;
}

function valueOf(path) {
  const [first, ...rest] = path;
  let value;
  if (first === "this") value = globalThis;
  else if (first in globalThis) value = property(globalThis, first);
  else if (declared.has(first)) {
    try {
      value = host.runScript(first, "REPL");
    } catch {
      // It was never initialised.
    }
  }
  for (const name of rest) value = value == null ? undefined : property(value, name);
  return value;
}

// The last word of a text, followed by what may become of it.
function complete(text) {
  const word = lastWord.exec(text);
  const [, path, prefix = ""] = word;
  // Behind a call, a number or a string, nobody knows what it is.
  if (/[.)\]"'`\p{ID_Continue}]$/u.test(text.slice(0, word.index))) return [];
  let names;
  if (path !== "") {
    const object = valueOf(path.split(/\??\./).slice(0, -1));
    names = object == null ? [] : propertyNames(object);
  } else if (prefix !== "" || text.trim() === "") {
    names = [...declared, ...propertyNames(globalThis), ...keywords];
  } else return [];
  return [prefix, ...new Set(names.filter((name) => name.startsWith(prefix)))];
}

module.exports = { cancel, complete, evaluate, isIncomplete, start };

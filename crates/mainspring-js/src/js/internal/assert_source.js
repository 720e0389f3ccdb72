"use strict";

// Finds the call of a failed `assert(value)` in the source. Engines tell only some position within the call.

const tokens = new RegExp(
  [
    String.raw`\/\/.*|\/\*[^]*?\*\/`, // comments
    String.raw`"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|${"`"}(?:\\[^]|[^${"`"}\\])*${"`"}`, // strings
    String.raw`(?<=[(,=:[!&|?{};]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/`, // regular expressions
    String.raw`[()]`,
  ].join("|"),
  "g",
);
const name = String.raw`[\w$\x80-\uffff]+`;
const space = String.raw`\s*(?:\/\*[^*]*\*\/)?\s*`;
const callee = new RegExp(String.raw`${name}(?:\??\.${name}|\["\w+"\]|\['\w+'\])*${space}$`);

const assertion = new RegExp(
  String.raw`(?:^|\W)(?:assert|ok|strict)(?:\.call|\.apply|["']\])?${space}$`,
);

// The innermost call around the offset that reads like one of an assertion, else the innermost of all: where
// it begins and ends.
function findCall(source, offset, isAnyTaken) {
  const open = [];
  let other;
  // Nobody reads a message with a line of a bundle in it.
  if (source.length > 10000) return undefined;
  for (const { 0: token, index } of source.matchAll(tokens)) {
    if (token === "(") {
      const start = source.slice(0, index).search(callee);
      open.push({ start, isAssertion: assertion.test(source.slice(Math.max(0, start), index)) });
    } else if (token === ")" && open.length > 0) {
      const { start, isAssertion } = open.pop();
      if (start === -1 || start > offset || offset > index) continue;
      if (isAssertion) return [start, index + 1];
      other ??= [start, index + 1];
    }
  }
  return isAnyTaken ? other : undefined;
}

function readLines(file, first, last) {
  const lines = [];
  for (let line = Math.max(1, first); line <= last; line++) {
    const text = host.sourceLine(file, line);
    if (typeof text !== "string") break;
    lines.push(text);
  }
  return lines;
}

// The engine counts columns in bytes of UTF-8.
function inCharacters(line, column) {
  let bytes = 0;
  let at = 0;
  while (at < line.length && bytes < column) {
    const code = line.codePointAt(at);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    at += code < 0x10000 ? 1 : 2;
  }
  return at;
}

const controls = /[\x00-\x08\x0b\x0c\x0e-\x1f]/g;

function escapeControl(char) {
  return { "\b": "\\b", "\f": "\\f" }[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function describeCall({ file, line, column }) {
  // Most calls are in one line.
  for (const [above, below] of [[0, 0], [10, 20]]) {
    const first = Math.max(1, line - above);
    const lines = readLines(file, first, line + below);
    const before = lines.slice(0, line - first).reduce((sum, text) => sum + text.length + 1, 0);
    const source = lines.join("\n");
    const found = findCall(source, before + inCharacters(lines[line - first] ?? "", column), above > 0);
    if (found === undefined) continue;
    const [start, end] = found;
    const indent = start - (source.lastIndexOf("\n", start - 1) + 1);
    const code = source.slice(start, end).replace(new RegExp(`\n {0,${indent}}`, "g"), "\n  ");
    return `The expression evaluated to a falsy value:\n\n  ${code.replace(controls, escapeControl)}\n`;
  }
  return undefined;
}

const known = new Map();

/** The message of a failed assertion of `fn`: its call as it stands in the source, if that can be found. */
function describe(fn) {
  const holder = {};
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 10;
  Error.captureStackTrace(holder, fn);
  Error.stackTraceLimit = limit;
  const frame = /^ {4}at (?:.*? \()?(.+?):(\d+):(\d+)\)?$/m.exec(String(holder.stack));
  if (frame === null) return undefined;
  const [position, file, line, column] = frame;
  if (!known.has(position)) {
    known.set(position, describeCall({ file, line: Number(line), column: Number(column) - 1 }));
  }
  return known.get(position);
}

module.exports = { describe };

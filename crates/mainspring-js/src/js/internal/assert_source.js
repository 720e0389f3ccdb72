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
const callee = /[\w$]+(?:\??\.[\w$]+|\["\w+"\]|\['\w+'\])*\s*(?:\/\*[^*]*\*\/)?\s*$/;

// The innermost call around the offset that reads like one of an assertion: where it begins and ends.
function findCall(source, offset) {
  const open = [];
  // Nobody reads a message with a line of a bundle in it.
  if (source.length > 10000) return undefined;
  for (const { 0: token, index } of source.matchAll(tokens)) {
    if (token === "(") {
      const start = source.slice(0, index).search(callee);
      const isAssertion = start !== -1 && /\b(?:assert|ok|strict)\b/.test(source.slice(start, index));
      open.push(isAssertion ? start : Infinity);
    } else if (token === ")" && open.length > 0) {
      const start = open.pop();
      if (start <= offset && offset <= index) return [start, index + 1];
    }
  }
  return undefined;
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

function describeCall({ file, line, column }) {
  // Most calls are in one line.
  for (const [before, after] of [[0, 0], [10, 20]]) {
    const first = Math.max(1, line - before);
    const lines = readLines(file, first, line + after);
    const offset = lines.slice(0, line - first).reduce((sum, text) => sum + text.length + 1, column);
    const source = lines.join("\n");
    const found = findCall(source, offset);
    if (found === undefined) continue;
    const [start, end] = found;
    const indent = start - (source.lastIndexOf("\n", start - 1) + 1);
    const code = source.slice(start, end).replace(new RegExp(`\n {0,${indent}}`, "g"), "\n  ");
    return `The expression evaluated to a falsy value:\n\n  ${code}\n`;
  }
  return undefined;
}

const known = new Map();

/** The message of a failed assertion of `fn`: its call as it stands in the source, if that can be found. */
function describe(fn) {
  const holder = {};
  Error.captureStackTrace(holder, fn);
  const frame = /^ {4}at (?:.*? \()?(.+?):(\d+):(\d+)\)?$/m.exec(String(holder.stack));
  if (frame === null) return undefined;
  const [position, file, line, column] = frame;
  if (!known.has(position)) {
    known.set(position, describeCall({ file, line: Number(line), column: Number(column) - 1 }));
  }
  return known.get(position);
}

module.exports = { describe };

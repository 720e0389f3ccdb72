"use strict";

// Where the script called `fn`: the first frame above it.
function callSite(fn) {
  const holder = {};
  Error.captureStackTrace(holder, fn);
  const found = /^ {4}at (?:.*? \()?(.+?):(\d+):(\d+)\)?$/m.exec(String(holder.stack));
  return found && { file: found[1], line: Number(found[2]), column: Number(found[3]) - 1 };
}

// The length of the call at the start of `source`, to the parenthesis that closes it: zero if none does.
function callLength(source) {
  const token = /\/\/.*|\/\*[^]*?\*\/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\[^]|[^`\\])*`|[([{}\])]/g;
  let depth = 0;
  for (const { 0: text, index } of source.matchAll(token)) {
    if ("([{".includes(text)) depth++;
    else if (")]}".includes(text) && --depth === 0) return index + 1;
  }
  return 0;
}

/** The message of a failed `assert(value)`: the call as it stands in the source, if that can be read. */
function describe(fn) {
  const site = callSite(fn);
  let source = site && host.sourceLine(site.file, site.line);
  if (source === undefined || source === null) return undefined;
  const start = source.slice(0, site.column).search(/[\w$.]*$/);
  source = source.slice(start);
  for (let next = site.line + 1; next < site.line + 20 && callLength(source) === 0; next++) {
    const more = host.sourceLine(site.file, next);
    if (more === undefined || more === null) break;
    source += `\n${more}`;
  }
  const length = callLength(source);
  if (length === 0) return undefined;
  const lines = source.slice(0, length).split("\n");
  return `The expression evaluated to a falsy value:\n\n  ${lines.join("\n  ")}\n`;
}

module.exports = { describe };

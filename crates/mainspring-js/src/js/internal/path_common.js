"use strict";

const { validateObject, validateString } = require("internal/errors");

// What is left of the segments without "." and "..".
function squeeze(segments, isAbsolute) {
  const kept = [];
  for (const segment of segments) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") kept.push(segment);
    else if (kept.length > 0 && kept[kept.length - 1] !== "..") kept.pop();
    else if (!isAbsolute) kept.push("..");
  }
  return kept;
}

// Where the last name of a path begins and ends, at or after `from`; separators at the end do not count.
// `lastSeparator(path, position)` is like lastIndexOf.
function lastName(path, from, lastSeparator) {
  let end = path.length;
  while (end > from && lastSeparator(path, end - 1) === end - 1) end--;
  const start = end > from ? Math.max(lastSeparator(path, end - 1) + 1, from) : from;
  return [start, end];
}

function dotOf(base) {
  const dot = base.lastIndexOf(".");
  return dot <= 0 || base === ".." ? base.length : dot;
}

function basename(path, from, suffix, lastSeparator) {
  if (suffix !== undefined) validateString(suffix, "suffix");
  validateString(path, "path");
  if (suffix !== undefined && suffix !== "" && suffix === path) return "";
  const base = path.slice(...lastName(path, from, lastSeparator));
  return suffix && base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
}

function extname(path, from, lastSeparator) {
  const base = path.slice(...lastName(path, from, lastSeparator));
  return base.slice(dotOf(base));
}

// The parts of a path whose root is known and whose last name is at or after `from`.
function parse(path, root, from, lastSeparator) {
  const [start, end] = lastName(path, from, lastSeparator);
  const base = path.slice(start, end);
  const dot = dotOf(base);
  const dir = start > from ? path.slice(0, start - 1) : root;
  return { root, dir, base, ext: base.slice(dot), name: base.slice(0, dot) };
}

function format(separator, parts) {
  validateObject(parts, "pathObject");
  const dir = parts.dir || parts.root;
  const ext = parts.ext && parts.ext[0] !== "." ? `.${parts.ext}` : parts.ext || "";
  const base = parts.base || `${parts.name || ""}${ext}`;
  if (!dir) return base;
  return dir === parts.root ? `${dir}${base}` : `${dir}${separator}${base}`;
}

module.exports = { basename, extname, format, lastName, parse, squeeze, validateString };

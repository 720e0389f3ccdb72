"use strict";

const {
  basename, extname, format, lastName, parse, squeeze, validateString,
} = require("internal/path_common");

function lastSeparator(path, position) {
  return path.lastIndexOf("/", position);
}

const posix = {
  resolve(...paths) {
    let path = "";
    for (let i = paths.length - 1; i >= 0 && !path.startsWith("/"); i--) {
      validateString(paths[i], `paths[${i}]`);
      if (paths[i] !== "") path = `${paths[i]}/${path}`;
    }
    if (!path.startsWith("/")) path = `${host.cwd()}/${path}`;
    return `/${squeeze(path.split("/"), true).join("/")}`;
  },

  normalize(path) {
    validateString(path, "path");
    if (path === "") return ".";
    const isAbsolute = path.startsWith("/");
    let result = squeeze(path.split("/"), isAbsolute).join("/");
    if (result === "" && !isAbsolute) result = ".";
    if (result !== "" && path.endsWith("/")) result += "/";
    return isAbsolute ? `/${result}` : result;
  },

  isAbsolute(path) {
    validateString(path, "path");
    return path.startsWith("/");
  },

  join(...paths) {
    for (const path of paths) validateString(path, "path");
    return posix.normalize(paths.filter(Boolean).join("/"));
  },

  relative(from, to) {
    validateString(from, "from");
    validateString(to, "to");
    if (from === to) return "";
    const start = posix.resolve(from).split("/").filter(Boolean);
    const end = posix.resolve(to).split("/").filter(Boolean);
    let common = 0;
    while (common < start.length && start[common] === end[common]) common++;
    return [...start.fill("..").slice(common), ...end.slice(common)].join("/");
  },

  toNamespacedPath(path) {
    return path;
  },

  dirname(path) {
    validateString(path, "path");
    if (path === "") return ".";
    const [start] = lastName(path, 1, lastSeparator);
    if (start === 1) return path.startsWith("/") ? "/" : ".";
    return start === 2 && path.startsWith("/") ? "//" : path.slice(0, start - 1);
  },

  basename(path, suffix = undefined) {
    return basename(path, 0, suffix, lastSeparator);
  },

  extname(path) {
    validateString(path, "path");
    return extname(path, 0, lastSeparator);
  },

  format: format.bind(null, "/"),

  parse(path) {
    validateString(path, "path");
    const root = path.startsWith("/") ? "/" : "";
    return parse(path, root, root.length, lastSeparator);
  },

  sep: "/",
  delimiter: ":",

  get win32() {
    return require("internal/path_win32");
  },

  get posix() {
    return posix;
  },
};

posix._makeLong = posix.toNamespacedPath;
module.exports = posix;

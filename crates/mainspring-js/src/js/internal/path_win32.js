"use strict";

const {
  basename, extname, format, lastName, parse, squeeze, validateString,
} = require("internal/path_common");

const separators = /[\\/]/;
const separatorAt = (path, index) => index < path.length && separators.test(path[index]);

function lastSeparator(path, position) {
  return Math.max(path.lastIndexOf("/", position), path.lastIndexOf("\\", position));
}

// A share of a server.
const shares = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)/;

// The device (a drive, or a share of a server), where it ends, and whether a separator follows.
function deviceOf(path) {
  const share = shares.exec(path);
  if (share !== null) {
    // Names behind these are of devices, not of servers.
    if (/^[.?]$/.test(share[1])) return { device: `\\\\${share[1]}`, end: 3, isAbsolute: true };
    return { device: `\\\\${share[1]}\\${share[2]}`, end: share[0].length, isAbsolute: true };
  }
  const device = /^[a-z]:/i.exec(path)?.[0] ?? "";
  return { device, end: device.length, isAbsolute: separatorAt(path, device.length) };
}

// How long the root is, with a separator behind it.
function rootLength(path) {
  const end = shares.exec(path)?.[0].length ?? drive(path);
  return separatorAt(path, end) ? end + 1 : end;
}

function drive(path) {
  return /^[a-z]:/i.test(path) ? 2 : 0;
}

// The directory that paths of a device start from.
function cwdOf(device) {
  const cwd = host.cwd();
  if (device === "") return cwd;
  const path = host.env()[`=${device}`] || cwd;
  const isOther = path.slice(0, 2).toLowerCase() !== device.toLowerCase() && path[2] === "\\";
  return isOther ? `${device}\\` : path;
}

const win32 = {
  resolve(...paths) {
    let device = "";
    let tail = "";
    let isAbsolute = false;
    for (let i = paths.length - 1; i >= -1 && !(isAbsolute && device !== ""); i--) {
      if (i >= 0) validateString(paths[i], `paths[${i}]`);
      const path = i >= 0 ? paths[i] : cwdOf(device);
      if (path === "") continue;
      const found = deviceOf(path);
      if (found.device !== "") {
        if (device === "") device = found.device;
        else if (device.toLowerCase() !== found.device.toLowerCase()) continue;
      }
      if (!isAbsolute) {
        tail = `${path.slice(found.end)}\\${tail}`;
        isAbsolute = found.isAbsolute;
      }
    }
    tail = squeeze(tail.split(separators), isAbsolute).join("\\");
    return `${device}${isAbsolute ? "\\" : ""}${tail}` || ".";
  },

  normalize(path) {
    validateString(path, "path");
    if (path === "") return ".";
    const { device, end, isAbsolute } = deviceOf(path);
    let tail = squeeze(path.slice(end).split(separators), isAbsolute).join("\\");
    if (tail === "" && !isAbsolute) tail = ".";
    if (tail !== "" && separatorAt(path, path.length - 1)) tail += "\\";
    // What is relative must not become a path of a drive or a device.
    if (device === "" && !isAbsolute && path.includes(":") && (drive(tail) > 0 || /:([\\/]|$)/.test(path))) {
      tail = `.\\${tail}`;
    }
    return `${device}${isAbsolute ? "\\" : ""}${tail}`;
  },

  isAbsolute(path) {
    validateString(path, "path");
    return separatorAt(path, 0) || /^[a-z]:[\\/]/i.test(path);
  },

  join(...paths) {
    for (const path of paths) validateString(path, "path");
    const given = paths.filter(Boolean);
    if (given.length === 0) return ".";
    let path = given.join("\\");
    // Only what began as a share stays one.
    if (!/^[\\/]{2}[^\\/]/.test(given[0])) path = path.replace(/^[\\/]{2,}/, "\\");
    return win32.normalize(path);
  },

  relative(from, to) {
    validateString(from, "from");
    validateString(to, "to");
    if (from === to) return "";
    const start = win32.resolve(from);
    const end = win32.resolve(to);
    if (start.toLowerCase() === end.toLowerCase()) return "";
    const startParts = start.split("\\").filter(Boolean);
    const endParts = end.split("\\").filter(Boolean);
    let common = 0;
    while (
      common < startParts.length && common < endParts.length &&
      startParts[common].toLowerCase() === endParts[common].toLowerCase()
    ) common++;
    if (common === 0 && startParts.length > 0 && endParts.length > 0) return end;
    return [...startParts.fill("..").slice(common), ...endParts.slice(common)].join("\\");
  },

  toNamespacedPath(path) {
    if (typeof path !== "string" || path === "") return path;
    const resolved = win32.resolve(path);
    if (resolved.length <= 2) return path;
    if (/^\\\\[^?.]/.test(resolved)) return `\\\\?\\UNC\\${resolved.slice(2)}`;
    return /^[a-z]:\\/i.test(resolved) ? `\\\\?\\${resolved}` : resolved;
  },

  dirname(path) {
    validateString(path, "path");
    if (path === "") return ".";
    const root = rootLength(path);
    const [start] = lastName(path, root, lastSeparator);
    if (start > root) return path.slice(0, start - 1);
    return root === 0 ? "." : path.slice(0, root);
  },

  basename(path, suffix = undefined) {
    return basename(path, typeof path === "string" ? drive(path) : 0, suffix, lastSeparator);
  },

  extname(path) {
    validateString(path, "path");
    return extname(path, drive(path), lastSeparator);
  },

  format: format.bind(null, "\\"),

  parse(path) {
    validateString(path, "path");
    const root = rootLength(path);
    return parse(path, path.slice(0, root), root, lastSeparator);
  },

  sep: "\\",
  delimiter: ";",

  get posix() {
    return require("internal/path_posix");
  },

  get win32() {
    return win32;
  },
};

win32._makeLong = win32.toNamespacedPath;
module.exports = win32;

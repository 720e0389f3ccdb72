"use strict";

const { codeError, invalidArgType, invalidArgValue, validateString } = require("internal/errors");
const { URL, URLSearchParams } = require("internal/url");
const { missingArgs, toText } = require("internal/webidl");

function isURL(value) {
  return Boolean(value?.href && value.protocol && value.auth === undefined && value.path === undefined);
}

function onWindows(options) {
  return options?.windows ?? host.platform() === "win32";
}

function fileURLToPath(path, options = undefined) {
  if (typeof path === "string") path = new URL(path);
  else if (!isURL(path)) throw invalidArgType("path", ["string", "URL"], path);
  if (path.protocol !== "file:") {
    throw codeError(TypeError, "ERR_INVALID_URL_SCHEME", "The URL must be of scheme file");
  }
  const windows = onWindows(options);
  const { hostname, pathname } = path;
  if (windows ? /%2f|%5c/i.test(pathname) : /%2f/i.test(pathname)) {
    const separators = windows ? "\\ or /" : "/";
    throw invalidFilePath(`File URL path must not include encoded ${separators} characters`);
  }
  if (!windows) {
    if (hostname === "") return decodeURIComponent(pathname);
    const message = `File URL host must be "localhost" or empty on ${host.platform()}`;
    throw codeError(TypeError, "ERR_INVALID_FILE_URL_HOST", message);
  }
  const decoded = decodeURIComponent(pathname.replaceAll("/", "\\"));
  if (hostname !== "") return `\\\\${domainToUnicode(hostname)}${decoded}`;
  if (!/^\\[a-z]:/i.test(decoded)) throw invalidFilePath("File URL path must be absolute");
  return decoded.slice(1);
}

function invalidFilePath(message) {
  return codeError(TypeError, "ERR_INVALID_FILE_URL_PATH", message);
}

function pathToFileURL(path, options = undefined) {
  validateString(path, "path");
  const windows = onWindows(options);
  if (windows && path.startsWith("\\\\")) return shareToFileURL(path);
  const flavour = require("path")[windows ? "win32" : "posix"];
  let resolved = flavour.resolve(path);
  // What ends with a separator is a directory, and stays one.
  if (/\/$/.test(path) || (windows && /\\$/.test(path))) {
    if (!resolved.endsWith(flavour.sep)) resolved += "/";
  }
  return new URL(`file://${windows ? "/" : ""}${escapePath(resolved, windows)}`);
}

// What a URL would take for something else, or leave as it is.
function escapePath(path, windows) {
  const special = windows ? /[%\n\r\t?#[\]^|~]/g : /[%\\\n\r\t?#[\]^|~]/g;
  const escape = (found) => `%${found.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
  return path.replace(special, escape);
}

function shareToFileURL(path) {
  const prefix = path.startsWith("\\\\?\\UNC\\") ? 8 : 2;
  const end = path.indexOf("\\", prefix);
  if (end === -1) throw invalidArgValue("path", path, "Missing UNC resource path");
  if (end === 2) throw invalidArgValue("path", path, "Empty UNC servername");
  const url = new URL("file://");
  url.hostname = domainToASCII(path.slice(prefix, end));
  url.pathname = escapePath(path.slice(end), true).replaceAll("\\", "/");
  return url;
}

function domainArgument(values) {
  if (values.length === 0) throw missingArgs("domain");
  return toText(values[0]);
}

function domainToASCII(domain) {
  return host.urlDomain(domainArgument(arguments), false);
}

function domainToUnicode(domain) {
  return host.urlDomain(domainArgument(arguments), true);
}

function urlToHttpOptions(url) {
  const { hostname, pathname, port, username, password, search } = url;
  const options = {
    __proto__: null,
    ...url,
    protocol: url.protocol,
    hostname: hostname?.startsWith("[") ? hostname.slice(1, -1) : hostname,
    hash: url.hash,
    search,
    pathname,
    path: `${pathname || ""}${search || ""}`,
    href: url.href,
  };
  if (port !== "") options.port = Number(port);
  if (username || password) {
    options.auth = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  }
  return options;
}

function formatURL(url, options) {
  if (options !== undefined && options !== null && typeof options !== "object") {
    throw invalidArgType("options", "object", options);
  }
  const { auth = true, fragment = true, search = true, unicode = false } = options ?? {};
  if (!fragment || !search || !auth || unicode) {
    const changed = new URL(url.href);
    if (!fragment) changed.hash = "";
    if (!search) changed.search = "";
    if (!auth) changed.username = changed.password = "";
    const { href, hostname } = changed;
    if (!unicode || hostname === "") return href;
    const start = href.indexOf(hostname, href.indexOf("@") + 1 || changed.protocol.length + 2);
    return href.slice(0, start) + domainToUnicode(hostname) + href.slice(start + hostname.length);
  }
  return url.href;
}

function format(url, options = undefined) {
  if (typeof url === "string") url = parse(url);
  else if (typeof url !== "object" || url === null) {
    throw invalidArgType("urlObject", ["Object", "string"], url);
  } else if (isURL(url)) return formatURL(url, options);
  return legacy().format(url);
}

function legacy() {
  return require("internal/url_legacy");
}

function parse(url, parseQueryString = false, slashesDenoteHost = false) {
  return legacy().parse(url, parseQueryString, slashesDenoteHost);
}

// Also for what has no scheme on either side.
function resolve(from, to) {
  const url = new URL(to, new URL(from, "resolve://"));
  return url.protocol === "resolve:" ? `${url.pathname}${url.search}${url.hash}` : url.href;
}

module.exports = {
  URL,
  URLSearchParams,
  get Url() {
    return legacy().Url;
  },
  domainToASCII,
  domainToUnicode,
  fileURLToPath,
  format,
  parse,
  pathToFileURL,
  resolve,
  urlToHttpOptions,
};

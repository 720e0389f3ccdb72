"use strict";

const { codeError, validateString } = require("internal/errors");

// Schemes that are followed by a host even if nobody wrote one.
const slashed = new Set(["http:", "https:", "ftp:", "gopher:", "file:", "ws:", "wss:"]);
const unsafe = /[\s<>"`{}|\\^']/g;

class Url {
  protocol = null;
  slashes = null;
  auth = null;
  host = null;
  port = null;
  hostname = null;
  hash = null;
  search = null;
  query = null;
  pathname = null;
  path = null;
  href = null;
}

function invalidUrl(input) {
  return codeError(TypeError, "ERR_INVALID_URL", "Invalid URL", { input });
}

function escapeUnsafe(text) {
  return text.replace(unsafe, (found) => encodeURIComponent(found).replace("'", "%27"));
}

// Reads the authority at the start of the text, and gives back what follows it.
function readAuthority(url, text, input) {
  const end = text.search(/[/?#]/);
  const authority = (end < 0 ? text : text.slice(0, end)).replace(/[\t\r\n]/g, "");
  const at = authority.lastIndexOf("@");
  if (at >= 0) url.auth = decodeURIComponent(authority.slice(0, at));
  const given = authority.slice(at + 1);
  // What cannot be in a host is the start of the path.
  const invalid = given.search(/[\s<>"`{}|\\^';%]/);
  const hostPart = invalid < 0 ? given : given.slice(0, invalid);
  const port = /:(\d*)$/.exec(hostPart);
  if (port !== null && port[1] !== "") url.port = port[1];
  let hostname = (port === null ? hostPart : hostPart.slice(0, port.index)).toLowerCase();
  const isIPv6 = hostname.startsWith("[") && hostname.endsWith("]");
  // A colon without a port belongs to the path.
  let colon = "";
  if (!isIPv6 && hostname.includes(":")) {
    colon = `/${hostname.slice(hostname.indexOf(":"))}`;
    hostname = hostname.slice(0, hostname.indexOf(":"));
  }
  if (hostname.length > 255) hostname = "";
  if (/[\x00#%/?@\\^|]/.test(hostname)) throw invalidUrl(input);
  if (!isIPv6 && /[^\x00-\x7f]/.test(hostname)) {
    hostname = host.urlDomain(hostname, false);
    if (hostname === "") throw invalidUrl(input);
  }
  url.host = url.port === null ? hostname : `${hostname}:${url.port}`;
  url.hostname = isIPv6 ? hostname.slice(1, -1) : hostname;
  return colon + (invalid < 0 ? "" : given.slice(invalid)) + (end < 0 ? "" : text.slice(end));
}

function parse(input, parseQueryString, slashesDenoteHost) {
  if (input instanceof Url) return input;
  validateString(input, "url");
  const url = new Url();
  let rest = input.replace(/^[\x00-\x20\xa0\ufeff]+|[\x00-\x20\xa0\ufeff]+$/g, "");
  // Backslashes are slashes, up to the query.
  rest = rest.replace(/^[^?#]*/, (start) => start.replaceAll("\\", "/"));
  const protocol = /^[a-z0-9.+-]+:/i.exec(rest)?.[0];
  if (protocol !== undefined) {
    url.protocol = protocol.toLowerCase();
    rest = rest.slice(protocol.length);
  }
  const isScript = url.protocol === "javascript:";
  const hasHost = protocol !== undefined || slashesDenoteHost || /^\/\/[^@/]+@[^@/]+/.test(rest);
  if (rest.startsWith("//") && !isScript && hasHost) {
    url.slashes = true;
    rest = rest.slice(2);
  }
  if (!isScript && (url.slashes || (protocol !== undefined && !slashed.has(url.protocol)))) {
    rest = readAuthority(url, rest, input);
  }
  if (!isScript) rest = escapeUnsafe(rest);
  const [, pathname, search, hash] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(rest);
  if (hash !== undefined) url.hash = hash;
  if (search !== undefined) {
    url.search = search;
    url.query = search.slice(1);
  }
  if (parseQueryString) url.query = require("querystring").parse(url.query ?? "");
  if (pathname !== "") url.pathname = pathname;
  else if (slashed.has(url.protocol) && url.hostname) url.pathname = "/";
  if (url.pathname || url.search) url.path = `${url.pathname ?? ""}${url.search ?? ""}`;
  url.href = format(url);
  return url;
}

function format(url) {
  const auth = url.auth ? `${encodeURIComponent(url.auth).replace(/%3A/i, ":")}@` : "";
  let protocol = url.protocol || "";
  if (protocol !== "" && !protocol.endsWith(":")) protocol += ":";
  let authority = "";
  if (url.host) authority = auth + url.host;
  else if (url.hostname) {
    const { hostname } = url;
    authority = auth + (hostname.includes(":") && !hostname.startsWith("[") ? `[${hostname}]` : hostname);
    if (url.port) authority += `:${url.port}`;
  }
  const { stringify } = require("querystring");
  const query = url.query !== null && typeof url.query === "object" ? stringify(url.query) : "";
  let search = url.search || (query && `?${query}`);
  if (search && !search.startsWith("?")) search = `?${search}`;
  let hash = url.hash || "";
  if (hash !== "" && !hash.startsWith("#")) hash = `#${hash}`;
  let pathname = (url.pathname || "").replace(/[?#]/g, encodeURIComponent);
  if (url.slashes || slashed.has(protocol)) {
    if (url.slashes || authority !== "") {
      if (pathname !== "" && !pathname.startsWith("/")) pathname = `/${pathname}`;
      authority = `//${authority}`;
    } else if (protocol === "file:") authority = "//";
  }
  return `${protocol}${authority}${pathname}${search.replaceAll("#", "%23")}${hash}`;
}

module.exports = { Url, format, parse };

"use strict";

const { codeError } = require("internal/errors");

// What is not a good escape stays as it is.
function unescapeBuffer(text) {
  const { Buffer } = require("buffer");
  const character = (_, digits) => String.fromCharCode(parseInt(digits, 16));
  return Buffer.from(String(text).replace(/%([0-9a-f]{2})/gi, character), "latin1");
}

function unescape(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return unescapeBuffer(text).toString();
  }
}

function escape(text) {
  try {
    return encodeURIComponent(typeof text === "object" ? String(text) : text);
  } catch (error) {
    if (error instanceof URIError) throw codeError(URIError, "ERR_INVALID_URI", "URI malformed");
    throw error;
  }
}

function primitive(value) {
  if (typeof value === "string") return value;
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  return typeof value === "bigint" || typeof value === "boolean" ? String(value) : "";
}

function stringify(object, separator = undefined, equals = undefined, options = undefined) {
  if (object === null || typeof object !== "object") return "";
  const encode = options?.encodeURIComponent ?? module.exports.escape;
  const pairs = [];
  for (const key of Object.keys(object)) {
    const name = `${encode(primitive(key))}${equals || "="}`;
    const value = object[key];
    for (const item of Array.isArray(value) ? value : [value]) pairs.push(name + encode(primitive(item)));
  }
  return pairs.join(separator || "&");
}

function parse(text, separator = undefined, equals = undefined, options = undefined) {
  const result = { __proto__: null };
  if (typeof text !== "string" || text === "") return result;
  const sign = equals ? String(equals) : "=";
  const maxKeys = typeof options?.maxKeys === "number" ? options.maxKeys : 1000;
  const given = options?.decodeURIComponent ?? module.exports.unescape;
  const decode = (piece) => {
    const spaced = piece.replaceAll("+", " ");
    try {
      return given(spaced);
    } catch {
      return unescape(spaced);
    }
  };
  const pairs = text.split(separator ? String(separator) : "&").filter((pair) => pair !== "");
  for (const pair of maxKeys > 0 ? pairs.slice(0, maxKeys) : pairs) {
    const at = pair.indexOf(sign);
    const key = decode(at < 0 ? pair : pair.slice(0, at));
    const value = at < 0 ? "" : decode(pair.slice(at + sign.length));
    if (!(key in result)) result[key] = value;
    else if (Array.isArray(result[key])) result[key].push(value);
    else result[key] = [result[key], value];
  }
  return result;
}

module.exports = { unescapeBuffer, unescape, escape, stringify, encode: stringify, parse, decode: parse };

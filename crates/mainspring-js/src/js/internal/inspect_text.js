"use strict";

// The options of `inspect`, as far as the caller gives no others.
const defaults = Object.seal({
  showHidden: false,
  depth: 2,
  colors: false,
  customInspect: true,
  showProxy: false,
  maxArrayLength: 100,
  maxStringLength: 10000,
  breakLength: 80,
  compact: 3,
  sorted: false,
  getters: false,
  numericSeparator: false,
});

const unescaped = /^[^\x00-\x1f'\\\x7f-\x9f\ud800-\udfff]*$/;
const toEscape = /[\x00-\x1f'\\\x7f-\x9f\ud800-\udfff]/gu;
const shortEscapes = {
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\f": "\\f",
  "\r": "\\r",
  "\\": "\\\\",
  "'": "\\'",
};

function escapeChar(char) {
  if (shortEscapes[char]) return shortEscapes[char];
  const code = char.charCodeAt(0);
  return code > 0xff ? `\\u${code.toString(16)}` : `\\x${code.toString(16).toUpperCase().padStart(2, "0")}`;
}

function escape(text) {
  return text.replace(toEscape, escapeChar);
}

// The first quote that needs no escaping: single, double, backtick.
function quote(text) {
  if (unescaped.test(text)) return `'${text}'`;
  let mark = "'";
  if (text.includes("'")) {
    if (!text.includes('"')) mark = '"';
    else if (!text.includes("`") && !text.includes("${")) mark = "`";
  }
  if (mark === "'") return `'${escape(text)}'`;
  return mark + text.replace(toEscape, (char) => (char === "'" ? char : escapeChar(char))) + mark;
}

function plural(count, word) {
  return `${count} ${word}${count > 1 ? "s" : ""}`;
}

function withSeparators(digits) {
  return !/^-?\d+$/.test(digits) ? digits : digits.replace(/\B(?=(\d{3})+$)/g, "_");
}

function formatNumber(number, separated) {
  if (!separated) return Object.is(number, -0) ? "-0" : String(number);
  const [whole, fraction] = String(number).split(".");
  if (fraction === undefined || Number.isInteger(number)) return withSeparators(String(number));
  return `${withSeparators(whole)}.${fraction.replace(/.{3}(?=.)/g, "$&_")}`;
}

function formatBigInt(number, separated) {
  return `${separated ? withSeparators(String(number)) : number}n`;
}

module.exports = { defaults, escape, formatBigInt, formatNumber, plural, quote };

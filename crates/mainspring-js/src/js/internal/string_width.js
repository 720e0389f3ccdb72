"use strict";

const ascii = /^[\x20-\x7e]*$/;
const zero = /[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u;
const wide = new RegExp(
  "[\\u1100-\\u115f\\u2329\\u232a\\u2630-\\u2637\\u268a-\\u268f\\u2e80-\\u303e\\u3041-\\ua4c6" +
    "\\ua960-\\ua97c\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe10-\\ufe19\\ufe30-\\ufe6b\\uff01-\\uff60" +
    "\\uffe0-\\uffe6\\u{16fe0}-\\u{1b2fb}\\u{1d300}-\\u{1d376}\\u{1f200}-\\u{1f265}\\u{20000}-\\u{3fffd}]" +
    "|\\p{Emoji_Presentation}",
  "u",
);
const controls = new RegExp(
  "[\\u001b\\u009b][[\\]()#;?]*(?:(?:(?:(?:;[-\\w/#&.:=?%@~]+)+|\\w+(?:;[-\\w/#&.:=?%@~]*)*)?" +
    "(?:\\u0007|\\u001b\\u005c|\\u009c))|(?:(?:\\d{1,4}(?:;\\d{0,4})*)?[\\dA-PR-TZcf-ntqry=><~]))",
  "g",
);

/** The text without the sequences that only move or colour. */
function stripControls(text) {
  return text.includes("\u001b") || text.includes("\u009b") ? text.replace(controls, "") : text;
}

/** How many columns of a terminal the text takes. */
function stringWidth(text, hasControls = true) {
  if (hasControls) text = stripControls(text);
  if (ascii.test(text)) return text.length;
  let width = 0;
  for (const char of text.normalize("NFC")) {
    if (wide.test(char)) width += 2;
    else if (char === "\u00ad" || !zero.test(char)) width += 1;
  }
  return width;
}

module.exports = { stringWidth, stripControls };

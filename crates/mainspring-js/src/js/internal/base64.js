"use strict";

const { missingArgs, toText } = require("internal/webidl");

function invalidCharacter(message) {
  const { DOMException } = require("internal/dom_exception");
  return new DOMException(message, "InvalidCharacterError");
}

function atob(input) {
  if (arguments.length === 0) throw missingArgs("input");
  const text = host.atob(toText(input));
  if (text === undefined) throw invalidCharacter("Invalid character");
  if (text === null) throw invalidCharacter("The string to be decoded is not correctly encoded.");
  return text;
}

function btoa(input) {
  if (arguments.length === 0) throw missingArgs("input");
  const text = host.btoa(toText(input));
  if (text === undefined) throw invalidCharacter("Invalid character");
  return text;
}

module.exports = { atob, btoa };

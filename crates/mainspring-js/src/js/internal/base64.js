"use strict";

function missing() {
  const { codeError } = require("internal/errors");
  return codeError(TypeError, "ERR_MISSING_ARGS", 'The "input" argument must be specified');
}

function invalidCharacter(message) {
  const { DOMException } = require("internal/dom_exception");
  return new DOMException(message, "InvalidCharacterError");
}

function atob(input) {
  if (arguments.length === 0) throw missing();
  const text = host.atob(`${input}`);
  if (text === undefined) throw invalidCharacter("Invalid character");
  if (text === null) throw invalidCharacter("The string to be decoded is not correctly encoded.");
  return text;
}

function btoa(input) {
  if (arguments.length === 0) throw missing();
  const text = host.btoa(`${input}`);
  if (text === undefined) throw invalidCharacter("Invalid character");
  return text;
}

module.exports = { atob, btoa };

"use strict";

const { codeError } = require("internal/errors");

function missing() {
  return codeError(TypeError, "ERR_MISSING_ARGS", 'The "input" argument must be specified');
}

function atob(input) {
  if (arguments.length === 0) throw missing();
  return host.atob(`${input}`);
}

function btoa(input) {
  if (arguments.length === 0) throw missing();
  return host.btoa(`${input}`);
}

module.exports = { atob, btoa };

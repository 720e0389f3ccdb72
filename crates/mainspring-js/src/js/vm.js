"use strict";

const { validateString, invalidArgType } = require("internal/errors");

// Scripts in the one global scope that there is.

function filenameOf(options) {
  if (options === undefined) return "evalmachine.<anonymous>";
  if (typeof options === "string") return options;
  if (typeof options !== "object" || options === null) {
    throw invalidArgType("options", ["string", "object"], options);
  }
  const { filename = "evalmachine.<anonymous>" } = options;
  validateString(filename, "options.filename");
  return filename;
}

class Script {
  #source;
  #filename;

  constructor(code, options = undefined) {
    this.#source = `${code}`;
    this.#filename = filenameOf(options);
    // It is compiled when it is run, but an error in it belongs here.
    host.checkScript(this.#source, this.#filename, false);
  }

  runInThisContext() {
    return host.runScript(this.#source, this.#filename);
  }
}

function runInThisContext(code, options = undefined) {
  return host.runScript(`${code}`, filenameOf(options));
}

module.exports = { Script, runInThisContext };

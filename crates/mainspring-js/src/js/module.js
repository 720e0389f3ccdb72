"use strict";

const { Module, createRequire } = require("internal/cjs");

Module.Module = Module;
Module.builtinModules = host.builtinNames();
Module.createRequire = createRequire;
Module.isBuiltin = (name) => Module.builtinModules.includes(`${name}`.replace(/^node:/, ""));

module.exports = Module;

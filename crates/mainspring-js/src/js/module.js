"use strict";

const { Module } = require("internal/cjs");

Module.Module = Module;
Module.builtinModules = host.builtinNames();
Module.createRequire = (file) => require("internal/cjs_resolve").createRequire(file);
Module.isBuiltin = (name) => Module.builtinModules.includes(`${name}`.replace(/^node:/, ""));

module.exports = Module;

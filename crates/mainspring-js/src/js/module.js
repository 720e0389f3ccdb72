"use strict";

const { Module } = require("internal/cjs");

Module.Module = Module;
Module.builtinModules = host.builtinNames();
Module.createRequire = (file) => require("internal/cjs_resolve").createRequire(file);
Module.wrapper = ["(function (exports, require, module, __filename, __dirname) { ", "\n});"];
Module.wrap = (source) => Module.wrapper[0] + source + Module.wrapper[1];
Module.isBuiltin = (name) => Module.builtinModules.includes(`${name}`.replace(/^node:/, ""));

module.exports = Module;

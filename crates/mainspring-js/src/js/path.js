"use strict";

module.exports = require(host.platform() === "win32" ? "internal/path_win32" : "internal/path_posix");

"use strict";

module.exports = require("internal/types");

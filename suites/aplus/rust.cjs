"use strict";

// The promises of the Rust library, as the engine sees them.
module.exports = require("mainspring:promise");

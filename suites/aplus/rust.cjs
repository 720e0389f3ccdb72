"use strict";

// The promises of the Rust library, as scripts see them.
module.exports = mainspring.promise;

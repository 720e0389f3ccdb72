"use strict";

// Whether what is written to a terminal, or to something else, is to have colours.
function wantsColors(isTTY) {
  const env = require("internal/process").status.object?.env ?? host.env();
  if (env.FORCE_COLOR !== undefined) return ["", "1", "true", "2", "3"].includes(env.FORCE_COLOR);
  if (!isTTY || env.NO_COLOR || env.NODE_DISABLE_COLORS || env.TERM === "dumb") return false;
  return Boolean(env.TERM || env.COLORTERM);
}

module.exports = { wantsColors };

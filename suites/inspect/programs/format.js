"use strict";

const { format, formatWithOptions } = require("node:util");
const lines = require("../lines/format.js");
const { evaluate, show } = require("../lines/show.js");

for (const line of lines) {
  const args = () => evaluate(`[${line}]`);
  show(`format(${line})`, () => format(...args()));
  show("with colors, not compact", () => formatWithOptions({ colors: true, compact: false, depth: 0 }, ...args()));
}

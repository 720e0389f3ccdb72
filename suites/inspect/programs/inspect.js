"use strict";

const { inspect } = require("node:util");
const cases = require("../lines/inspect.js");
const { evaluate, show } = require("../lines/show.js");

for (const [code, options] of cases) {
  const title = options ? `${code} ## ${options}` : code;
  show(title, () => inspect(evaluate(code), ...(options ? [evaluate(options)] : [])));
}

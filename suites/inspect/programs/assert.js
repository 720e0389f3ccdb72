"use strict";

const assert = require("node:assert");
const { inspect, isDeepStrictEqual } = require("node:util");
const { lines, scope, values } = require("../lines/assert.js");
const { withoutFrames } = require("../lines/show.js");

async function outcome(line) {
  try {
    const names = ["assert", "scope", ...Object.keys(scope)];
    await new Function(...names, `return (${line})`)(assert, scope, ...Object.values(scope));
    return "passes";
  } catch (error) {
    // Behind an await, engines differ in whether there are frames at all.
    const shown = /ejects?\(/.test(line) ? `${error} ${error.operator}` : inspect(error);
    return withoutFrames(`${error.name} ${shown}`);
  }
}

// Each value against each: strictly equal, loosely equal, or neither.
function pairs() {
  const isLooselyEqual = (a, b) => {
    try {
      assert.deepEqual(a, b);
      return true;
    } catch {
      return false;
    }
  };
  const compare = (a, b) => (isDeepStrictEqual(a, b) ? "=" : isLooselyEqual(a, b) ? "~" : ".");
  const [left, right] = [values(), values()];
  return left.map((a) => right.map((b) => compare(a, b)).join(""));
}

async function main() {
  for (const line of lines) console.log(`--- ${line}\n${await outcome(line)}`);
  console.log(pairs().join("\n"));
}

main();

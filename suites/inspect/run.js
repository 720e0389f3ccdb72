"use strict";

// Prints what `util.inspect`, `util.format` and the assertions make of the cases, for comparison between runtimes:
//   node run.js > expected.txt; mainspring run run.js | diff expected.txt -

const assert = require("node:assert");
const util = require("node:util");
const cases = require("./cases.js");
const formats = require("./formats.js");
const { lines, scope, values } = require("./asserts.js");

// Frames are of the engine, but for those that the cases made up.
const frames = /(?:\n\s+(?:at (?![^\n]*(?:\b[fgh]\.js|\(y:|loader:1:1))[^\n]*?|\.\.\. \d+ lines matching[^\n]*?)(?=(?: \{|,)?(?:\n|$)))+/g;
const normal = (text) => String(text).replace(frames, "<frames>");
const evaluate = (code) => (0, eval)(`(${code})`);

function show(title, make) {
  let text;
  try {
    text = make();
  } catch (error) {
    text = `threw ${error}`;
  }
  console.log(`--- ${title}\n${normal(text)}`);
}

async function failure(line) {
  try {
    const names = ["assert", "scope", ...Object.keys(scope)];
    await new Function(...names, `return (${line})`)(assert, scope, ...Object.values(scope));
    return "passes";
  } catch (error) {
    const { code, generatedMessage, operator } = error;
    const shown = [error.name, code, generatedMessage, operator, String(error)];
    // Behind an await, engines differ in whether there are frames at all.
    if (!/ejects?\(/.test(line)) shown.push(util.inspect(error));
    return shown.map(normal).join("\n");
  }
}

function pairs() {
  const [left, right] = [values(), values()];
  const isLoose = (a, b) => {
    try {
      assert.deepEqual(a, b);
      return true;
    } catch {
      return false;
    }
  };
  return left.map((a, row) => {
    const found = right.map((b) => (util.isDeepStrictEqual(a, b) ? "=" : isLoose(a, b) ? "~" : "."));
    return `${row} ${found.join("")}`;
  });
}

async function main() {
  for (const [code, options] of cases) {
    show(options ? `${code} ## ${options}` : code, () => {
      return util.inspect(evaluate(code), ...(options ? [evaluate(options)] : []));
    });
  }
  for (const args of formats) show(`format(${args})`, () => util.format(...evaluate(`[${args}]`)));
  for (const line of lines) {
    const text = await failure(line);
    console.log(`--- ${line}\n${text}`);
  }
  console.log(pairs().join("\n"));
}

process.on("warning", () => {});
main();

// Async generators, and loops over them. Some things are left out, because QuickJS and V8 differ. In QuickJS
// a throw out of a loop does not wait for return(), a loop that is left within yield* takes one job more, of
// the requests in the queue behind the end only the first is answered, a return() in the queue never is, and
// throw() within yield* over what has no throw() is an error of its own.

import { NOWHERE } from "../schedule.mjs";
import { indent } from "../script.mjs";
import { chain } from "./core.mjs";

function step(script) {
  const value = `"${script.label("v")}"`;
  return script.random.weighted([
    [4, [`yield ${value};`]],
    [2, [`yield Promise.resolve(${value});`]],
    [2, ["await null;", script.log("a")]],
    [1, [`log(await Promise.resolve(${value}));`]],
    [1, [`process.nextTick(log, ${value});`]],
    [1, [`log("${script.label("g")}", yield ${value});`]],
    [1, ["yield* [1, Promise.resolve(2)];"]],
    [1, [`yield* (async function* () { yield ${value}; ${script.log("a")} })();`]],
    [1, ["try {", `  yield ${value};`, "} finally {", "  await null;", `  ${script.log("y")}`, "}"]],
    [1, [`yield { then(resolve) { ${script.log("h")} resolve(${value}); } };`]],
  ]);
}

function steps(script, low, high) {
  return Array.from({ length: script.random.between(low, high) }, () => step(script)).flat();
}

const delegates = (lines) => lines.some((line) => line.includes("yield*"));

const generator = (lines) => ["(async function* () {", ...indent(lines), "})()"];

// Reads a generator to its end or leaves the loop early.
export function loop(script, cx) {
  const label = script.label("l");
  const body = steps(script, 2, 4);
  const leave = script.random.pick([null, "break", "return"]);
  const [head, ...rest] = generator([script.log("g"), ...body]);
  const lines = [
    "(async () => {",
    "  let count = 0;",
    `  for await (const value of ${head}`,
    ...indent(rest.slice(0, -1)),
    `  ${rest.at(-1)}) {`,
    "    count += 1;",
    `    log("${label}", count, value);`,
    ...(leave && !delegates(body) ? [`    if (count === ${script.random.between(1, 2)}) ${leave};`] : []),
    ...indent(indent(script.action({ ...NOWHERE, depth: cx.depth + 1, async: false }))),
    "  }",
    `  ${script.log("l")}`,
    "})()",
  ];
  return chain(script, lines, cx);
}

// Asks for several results before there is one.
export function queued(script) {
  const name = script.name("gen");
  const label = script.label("k");
  const body = steps(script, 2, 4);
  const lines = [`const ${name} = ${generator([script.log("g"), ...body]).join("\n")};`];
  const yields = body.filter((line) => line.includes("yield")).length;
  const requests = Array.from({ length: script.random.between(1, yields + 1) }, () => "next");
  requests.push(delegates(body) ? "next" : script.random.pick(["next", "next", "throw"]));
  requests.forEach((method, i) => {
    lines.push(
      `${name}.${method}(${i}).then((step) => log("${label}", ${i}, step.done, step.value), ` +
        `(error) => log("${label}", ${i}, "rejected", error));`,
    );
  });
  return ["{", ...indent(lines.flatMap((line) => line.split("\n"))), "}"];
}

// Ends a generator that waits at a yield.
export function ended(script, cx) {
  const name = script.name("gen");
  const [head, ...rest] = generator([
    "try {",
    ...indent([`yield "${script.label("v")}";`, ...steps(script, 1, 2)]),
    "} catch (error) {",
    `  log("${script.label("c")}", error);`,
    `  yield "${script.label("v")}";`,
    "} finally {",
    `  ${script.log("y")}`,
    ...indent(script.random.chance(50) ? ["await null;", script.log("y")] : []),
    "}",
  ]);
  const method = script.random.pick(["return", "throw"]);
  const lines = [
    "(async () => {",
    `  const ${name} = ${head}`,
    ...indent(rest.slice(0, -1)),
    `  ${rest.at(-1)};`,
    `  log((await ${name}.next()).value);`,
    `  const step = await ${name}.${method}("${script.label("v")}");`,
    "  log(step.done, step.value);",
    `  log((await ${name}.next()).done);`,
    "})()",
  ];
  return chain(script, lines, cx);
}

export function overPromises(script, cx) {
  const label = script.label("l");
  const items = Array.from({ length: script.random.between(1, 4) }, () => {
    const value = `"${script.label("v")}"`;
    return script.random.weighted([
      [2, value],
      [3, `Promise.resolve(${value})`],
      [2, `new Promise((resolve) => process.nextTick(resolve, ${value}))`],
      [1, `{ then(resolve) { resolve(${value}); } }`],
    ]);
  });
  const source = script.random.pick([`[${items.join(", ")}]`, `new Set([${items.join(", ")}]).values()`]);
  const lines = [
    "(async () => {",
    `  for await (const value of ${source}) log("${label}", value);`,
    ...indent(script.action({ ...cx, depth: cx.depth + 1, async: false })),
    "})()",
  ];
  return chain(script, lines, cx);
}

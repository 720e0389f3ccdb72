// Ticks, microtasks, promises and async functions, timers and immediates: what every engine has.

import { mayStart, mayThrowInTick, starts } from "../schedule.mjs";
import { append, indent } from "../script.mjs";

export const log = (script) => [script.log("s")];

export function tick(script, cx) {
  return script.callback("process.nextTick(", cx, "n", ");", { throws: script.throws(mayThrowInTick(cx)) });
}

export function microtask(script, cx) {
  return script.callback("queueMicrotask(", cx, "m", ");", { throws: script.throws(cx.time !== null) });
}

// Lines that end with a promise get some more reactions.
export function chain(script, lines, cx) {
  for (let count = script.random.weighted([[4, 0], [3, 1], [2, 2], [1, 3]]); count > 0; count -= 1) {
    const [method, kind] = script.random.weighted([
      [2, ["then", "p"]],
      [1, ["finally", "y"]],
      [1, ["catch", "c"]],
    ]);
    const [head, ...rest] = script.callback(`.${method}(`, cx, kind, ")");
    lines = [...append(lines, head), ...rest];
  }
  return append(lines, ";");
}

export function then(script, cx) {
  return chain(script, script.callback("Promise.resolve().then(", cx, "p", ")"), cx);
}

export function rejected(script, cx) {
  const name = script.label("r");
  const catching = script.random.chance(50) ? ".catch(" : ".then(null, ";
  const [head, ...rest] = script.callback(catching, cx, "c", ")", { params: "error" });
  const lines = [`Promise.reject(new Error("${name}"))${head}`, "  log(error.message);", ...rest];
  return chain(script, lines, cx);
}

export function construct(script, cx) {
  const lines = [
    "new Promise((resolve, reject) => {",
    `  ${script.log("x")}`,
    `  ${script.random.pick(["resolve();", "resolve(Promise.resolve());", "resolve(); reject(0);"])}`,
    ...indent(script.action({ ...cx, depth: cx.depth + 1, async: false })),
    `  ${script.log("x")}`,
    "})",
  ];
  return chain(script, lines, cx);
}

// A promise that one place waits for and another settles. Settling it twice does nothing.
export function deferred(script, cx) {
  const known = script.known("d");
  if (known && script.random.chance(60)) {
    const settle = script.random.weighted([
      [3, `resolve("${script.label("v")}")`],
      [1, `resolve(Promise.resolve("${script.label("v")}"))`],
      [1, `reject(new Error("${script.label("v")}"))`],
    ]);
    return [`${known.name}.${settle};`];
  }
  const name = script.name("d");
  script.prelude.push(
    `const ${name} = {};`,
    `${name}.promise = new Promise((resolve, reject) => Object.assign(${name}, { resolve, reject }));`,
    ...script.handler(`${name}.promise.then((value) => log("${name}", value), `, "c", ");"),
  );
  return script.handler(`${name}.promise.finally(`, "y", `).catch(() => ${script.log("c").slice(0, -1)});`);
}

const AWAITS = [
  () => ["await null;"],
  (script) => [`log(await Promise.resolve("${script.label("v")}"));`],
  () => ["await new Promise((resolve) => process.nextTick(resolve));"],
  () => ["await new Promise((resolve) => queueMicrotask(resolve));"],
  (script) => [
    "try {",
    `  await Promise.reject(new Error("${script.label("r")}"));`,
    "} catch (error) {",
    "  log(error.message);",
    "} finally {",
    `  ${script.log("y")}`,
    "}",
  ],
  (script, cx) => [
    "log(await (async () => {",
    ...indent([script.log("f"), ...script.action(cx)]),
    `  return ${script.random.pick(["", "Promise.resolve", "(async (x) => x)"])}("${script.label("v")}");`,
    "})());",
  ],
  (script) => [`for await (const value of [1, Promise.resolve(2)]) log("${script.label("l")}", value);`],
];

export function awaiting(script, cx) {
  if (!cx.async) {
    return undefined;
  }
  return [...script.random.pick(AWAITS)(script, cx), script.log("a")];
}

// Waits for a timer or an immediate: what follows happens then.
export function awaitingLoop(script, cx) {
  if (!cx.async) {
    return undefined;
  }
  if (mayStart(cx, "immediates")) {
    Object.assign(cx, starts(cx));
    return ["await new Promise((resolve) => setImmediate(resolve));", script.log("i")];
  }
  const slot = script.schedule.single(cx);
  if (slot === undefined) {
    return undefined;
  }
  Object.assign(cx, slot.place);
  return [`await new Promise((resolve) => setTimeout(resolve, ${slot.delay}));`, script.log("t")];
}

export function asyncFunction(script, cx) {
  const inner = { ...cx, depth: cx.depth + 1, async: true };
  const lines = [script.log("f")];
  for (let count = script.random.between(1, 3); count > 0; count -= 1) {
    lines.push(...(awaiting(script, inner)), ...script.action(inner));
  }
  const result = script.random.pick(["", "", "return Promise.resolve();", "return (async () => {})();"]);
  const head = ["(async () => {", ...indent(result === "" ? lines : [...lines, result]), "})()"];
  return chain(script, head, inner);
}

export function immediate(script, cx) {
  if (!mayStart(cx, "immediates")) {
    return undefined;
  }
  const place = starts(cx);
  const throws = script.throws(place.free);
  if (throws) {
    // In Node, immediates that it starts would run before its ticks.
    place.mode = "none";
  }
  return script.callback(keep(script, "setImmediate("), cx, "i", ");", { place, throws });
}

// Delays that mean 1 ms.
const ONE = ["0", "1", "-5", "NaN", "undefined", '"0"', "null", "0.9", "1.5", "2 ** 31", "Infinity"];

export function zeroTimeout(script, cx) {
  if (!mayStart(cx, "zero")) {
    return undefined;
  }
  const place = starts(cx);
  const tail = script.random.chance(20) ? ");" : `, ${script.random.pick(ONE)});`;
  return script.callback(keep(script, "setTimeout("), cx, "z", tail, { place });
}

export function timeout(script, cx) {
  if (script.random.chance(60)) {
    const slot = script.schedule.single(cx);
    if (slot === undefined) {
      return undefined;
    }
    const options = { place: slot.place, throws: script.throws(slot.place.free) };
    return script.callback(keep(script, "setTimeout("), cx, "t", `, ${slot.delay});`, options);
  }
  const slot = script.schedule.shared(cx);
  if (slot === undefined) {
    return undefined;
  }
  const delay = script.random.pick([slot.delay, slot.delay, slot.delay + 0.7, `"${slot.delay}"`]);
  return script.callback(keep(script, "setTimeout("), cx, "t", `, ${delay});`, { place: slot.place });
}

// In some themes timers and immediates get a name, and others may clear them.
function keep(script, call) {
  if (!script.has("handles")) {
    return call;
  }
  return `${script.name("h", { call })} = ${call}`;
}

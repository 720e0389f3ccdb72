// node:timers/promises

import { mayStart, starts } from "../schedule.mjs";
import { indent } from "../script.mjs";
import { chain } from "./core.mjs";

const MODULE = "node:timers/promises";

export function delay(script, cx) {
  const slot = script.schedule.single(cx);
  if (slot === undefined) {
    return undefined;
  }
  const inner = { ...slot.place, depth: cx.depth, async: false };
  const value = `"${script.label("v")}"`;
  script.import("setTimeout: delay", MODULE);
  script.import("scheduler", MODULE);
  const start = script.random.pick([
    `delay(${slot.delay}, ${value})`,
    `delay(${slot.delay}, ${value}, { ref: true })`,
    `delay(${slot.delay}, ${value}, { ref: false })`,
    `scheduler.wait(${slot.delay})`,
  ]);
  return chain(script, [`${start}.then((value) => log("${script.label("w")}", value))`], inner);
}

export function turn(script, cx) {
  if (!mayStart(cx, "immediates")) {
    return undefined;
  }
  const inner = { ...starts(cx), depth: cx.depth, async: false };
  script.import("setImmediate: turn", MODULE);
  script.import("scheduler", MODULE);
  const start = script.random.pick([`turn("${script.label("v")}")`, "turn()", "scheduler.yield()"]);
  return chain(script, [`${start}.then((value) => log("${script.label("w")}", value))`], inner);
}

export function zeroDelay(script, cx) {
  if (!mayStart(cx, "zero")) {
    return undefined;
  }
  const inner = { ...starts(cx), depth: cx.depth, async: false };
  script.import("setTimeout: delay", MODULE);
  const time = script.random.pick(["", "0", "1", "-1"]);
  return chain(script, [`delay(${time}).then((value) => log("${script.label("w")}", value))`], inner);
}

export function awaitDelay(script, cx) {
  const slot = cx.async ? script.schedule.single(cx) : undefined;
  if (slot === undefined) {
    return undefined;
  }
  script.import("setTimeout: delay", MODULE);
  Object.assign(cx, slot.place);
  return [`log(await delay(${slot.delay}, "${script.label("w")}"));`];
}

export function every(script, cx) {
  const count = script.random.between(1, 3);
  const period = script.schedule.interval(cx, count);
  if (period === undefined) {
    return undefined;
  }
  script.import("setInterval: every", MODULE);
  const label = script.label("v");
  return [
    "(async () => {",
    "  let count = 0;",
    `  for await (const value of every(${period}, "${label}")) {`,
    "    count += 1;",
    "    log(value, count);",
    `    if (count === ${count}) break;`,
    "  }",
    ...indent([script.log("l")]),
    "})();",
  ];
}

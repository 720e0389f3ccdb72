// What Timeout and Immediate objects can do, intervals, and arguments for callbacks.

import { mayStart, NOWHERE, place, starts } from "../schedule.mjs";
import { indent } from "../script.mjs";

export function clear(script) {
  const handle = script.known("h");
  if (handle === undefined) {
    return undefined;
  }
  const { name, call } = handle;
  if (call === "setImmediate(") {
    return [`clearImmediate(${name});`];
  }
  return [
    script.random.pick([
      `clearTimeout(${name});`,
      `clearInterval(${name});`,
      `clearTimeout(Number(${name}));`,
      `${name}?.close();`,
    ]),
  ];
}

export function reference(script) {
  const handle = script.known("h");
  if (handle === undefined || handle.call === "setImmediate(") {
    return undefined;
  }
  const { name } = handle;
  return [
    script.random.pick([
      `${name}?.unref();`,
      `${name}?.unref().ref();`,
      `log("${name}", ${name}?.hasRef());`,
    ]),
  ];
}

// Where an immediate does not keep the loop alive, it waits for what does.
export function unrefImmediate(script, cx) {
  if (!cx.free) {
    return undefined;
  }
  return script.handler("setImmediate(", "j", ").unref();");
}

export function unrefTimeout(script, cx) {
  const slot = script.schedule.single(cx);
  if (slot === undefined) {
    return undefined;
  }
  return script.callback("setTimeout(", cx, "u", `, ${slot.delay}).unref();`, { place: slot.place });
}

// A timer that others may start again.
export function refreshed(script, cx) {
  const known = script.known("k");
  if (known && script.random.chance(60)) {
    return script.schedule.again(cx, known.delay) ? [`${known.name}?.refresh();`] : undefined;
  }
  const slot = script.schedule.single(cx);
  if (slot === undefined) {
    return undefined;
  }
  const name = script.name("k", { delay: slot.delay });
  return script.handler(`${name} = setTimeout(`, "k", `, ${slot.delay});`);
}

export function interval(script, cx) {
  const count = script.random.between(1, 3);
  const period = script.schedule.interval(cx, count);
  if (period === undefined) {
    return undefined;
  }
  const name = script.name("h", { call: "setInterval(" });
  const label = script.label("v");
  const place = { ...NOWHERE, depth: cx.depth + 1, async: false };
  return [
    `${name} = setInterval((state) => {`,
    "  state.count += 1;",
    `  log("${label}", state.count);`,
    ...indent(script.action(place)),
    `  if (state.count === ${count}) clearInterval(${name});`,
    `}, ${period}, { count: 0 });`,
  ];
}

export function withArguments(script, cx) {
  const values = `"${script.label("g")}", 1, null`;
  const ways = [`process.nextTick(log, ${values});`];
  if (mayStart(cx, "immediates")) {
    ways.push(`setImmediate(log, ${values});`);
  }
  if (mayStart(cx, "zero")) {
    ways.push(`setTimeout(log, 0, ${values});`);
  }
  const way = script.random.pick(ways);
  if (!way.startsWith("process")) {
    starts(cx);
  }
  return [way];
}

export function receiver(script, cx) {
  const slot = script.schedule.single(cx);
  if (slot === undefined) {
    return undefined;
  }
  const name = script.name("h", { call: "setTimeout(" });
  return [
    `${name} = setTimeout(function () {`,
    `  log("${script.label("w")}", this === ${name}, this.hasRef());`,
    ...indent(script.body(cx, "t", slot.place)),
    `}, ${slot.delay});`,
  ];
}

// Timers that are all due when the loop comes to them: they run in one go, before the immediates they start.
// What Node does after an error depends on whether the next timer has the same delay: those that throw do.
export function late(script, cx) {
  Object.assign(cx, place(0, "immediates", false));
  const inner = { ...cx, depth: cx.depth + 1, async: false, free: true };
  const delays = script.has("throws") ? [1] : [0, 1, 1, 2];
  const lines = [];
  for (let count = script.random.between(2, 6); count > 0; count -= 1) {
    const name = script.name("h", { call: "setTimeout(" });
    const delay = script.schedule.part(script.random.pick(delays));
    const where = { place: starts(inner), throws: script.throws(true) };
    lines.push(...script.callback(`${name} = setTimeout(`, inner, "t", `, ${delay});`, where));
  }
  lines.push(
    `for (const end = performance.now() + ${script.schedule.part(3)}; performance.now() < end; );`,
    script.log("s"),
  );
  return script.random.chance(50) ? lines : ["setImmediate(() => {", ...indent(lines), "});"];
}

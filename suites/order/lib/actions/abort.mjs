// AbortController and AbortSignal.

// An expression for a controller. There are two at most, so that things meet.
function controller(script) {
  const known = script.names.get("ac") ?? [];
  if (known.length < 2 && script.random.chance(60 - 30 * known.length)) {
    const name = script.name("ac");
    script.prelude.push(`const ${name} = new AbortController();`);
    return name;
  }
  return script.known("ac")?.name ?? controller(script);
}

const SHOW = "signal.reason?.name ?? signal.reason";

export function listen(script) {
  const signal = `${controller(script)}.signal`;
  const options = script.random.pick(["", "", ", { once: true }"]);
  const [head, kind] = script.random.pick([
    [`${signal}.addEventListener("abort", `, "b"],
    [`${signal}.addEventListener("abort", `, "b"],
    [`${signal}.onabort = (`, "o"],
  ]);
  return script.handler(head, kind, kind === "o" ? ");" : `${options});`);
}

export function abort(script) {
  const name = controller(script);
  const reason = script.random.chance(50) ? "" : `"${script.label("v")}"`;
  return [
    script.log("b"),
    `${name}.abort(${reason});`,
    `{ const { signal } = ${name}; log(signal.aborted, ${SHOW}); }`,
  ];
}

export function any(script) {
  const parts = [`${controller(script)}.signal`, `${controller(script)}.signal`];
  const known = script.known("sig");
  if (known) {
    parts.push(known.name);
  } else if (script.random.chance(20)) {
    parts.push(`AbortSignal.abort("${script.label("v")}")`);
  }
  const name = script.name("sig");
  script.prelude.push(`const ${name} = AbortSignal.any([${parts.join(", ")}]);`);
  return script.handler(`${name}.addEventListener("abort", `, "b", ");");
}

// The time-out alone does not keep the loop alive.
export function timeoutSignal(script, cx) {
  const slot = script.schedule.single(cx);
  if (slot === undefined) {
    return undefined;
  }
  const [head, ...rest] = script.callback('.addEventListener("abort", ', cx, "u", ");", {
    place: slot.place,
    params: "event",
  });
  return [
    `AbortSignal.timeout(${slot.delay})${head}`,
    "  log(event.target.aborted, event.target.reason.name);",
    ...rest,
  ];
}

export function throwIfAborted(script) {
  const name = controller(script);
  return [
    "try {",
    `  ${name}.signal.throwIfAborted();`,
    `  ${script.log("s")}`,
    "} catch (error) {",
    `  log("${script.label("c")}", error.name ?? error);`,
    "}",
  ];
}

export function abortableDelay(script, cx) {
  const slot = script.schedule.single(cx);
  if (slot === undefined) {
    return undefined;
  }
  script.import("setTimeout: delay", "node:timers/promises");
  const label = script.label("w");
  return [
    `delay(${slot.delay}, "done", { signal: ${controller(script)}.signal })` +
      `.then((value) => log("${label}", value), (error) => log("${label}", error.name, error.code));`,
  ];
}

export function abortableImmediate(script, cx) {
  if (cx.mode !== "immediates") {
    return undefined;
  }
  script.import("setImmediate: turn", "node:timers/promises");
  const label = script.label("w");
  return [
    `turn("done", { signal: ${controller(script)}.signal })` +
      `.then((value) => log("${label}", value), (error) => log("${label}", error.name));`,
  ];
}

// A listener that a signal takes away.
export function removedListener(script) {
  if (!script.names.has("et")) {
    script.name("et");
    script.prelude.push("const target = new EventTarget();");
  }
  if (script.random.chance(50)) {
    return ['target.dispatchEvent(new Event("x"));', script.log("s")];
  }
  return script.handler('target.addEventListener("x", ', "l", `, { signal: ${controller(script)}.signal });`);
}

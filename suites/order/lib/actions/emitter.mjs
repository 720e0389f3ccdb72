// EventEmitter, and what node:events has besides.

function emitter(script) {
  if (!script.names.has("ee")) {
    script.import("EventEmitter", "node:events");
    script.name("ee");
    script.prelude.push("const ee = new EventEmitter();");
  }
  return "ee";
}

const event = (script) => script.random.pick(["x", "y"]);

export function on(script) {
  const name = emitter(script);
  const method = script.random.pick(["on", "on", "once", "prependListener", "prependOnceListener"]);
  return script.handler(`${name}.${method}("${event(script)}", `, "l", ");");
}

export function emit(script) {
  const name = emitter(script);
  return [
    `log("${script.label("s")}", ${name}.emit("${event(script)}", "${script.label("v")}"));`,
    script.log("s"),
  ];
}

export function off(script) {
  const name = emitter(script);
  const type = event(script);
  return [
    script.random.pick([
      `${name}.removeAllListeners("${type}");`,
      `${name}.off("${type}", ${name}.listeners("${type}")[0] ?? log);`,
      `log("${script.label("s")}", ${name}.listenerCount("${type}"));`,
    ]),
  ];
}

export function watch(script) {
  const name = emitter(script);
  const type = script.random.pick(["newListener", "removeListener"]);
  return [`${name}.on("${type}", (type) => log("${script.label("l")}", String(type)));`];
}

export function oncePromise(script) {
  const name = emitter(script);
  script.import("once", "node:events");
  const label = script.label("w");
  return [
    `once(${name}, "${event(script)}")` +
      `.then((values) => log("${label}", ...values), (error) => log("${label}", error.message));`,
  ];
}

export function abortedOnce(script) {
  const name = emitter(script);
  script.import("once", "node:events");
  const label = script.label("w");
  return [
    "{",
    "  const controller = new AbortController();",
    `  once(${name}, "never", { signal: controller.signal }).catch((error) => log("${label}", error.name));`,
    `  ${script.random.pick(["controller.abort();", "process.nextTick(() => controller.abort());"])}`,
    `  ${script.log("s")}`,
    "}",
  ];
}

export function iterate(script) {
  const name = emitter(script);
  script.import("on", "node:events");
  const label = script.label("l");
  const count = script.random.between(1, 3);
  return [
    "(async () => {",
    "  let count = 0;",
    `  for await (const [value] of on(${name}, "${event(script)}")) {`,
    `    log("${label}", value);`,
    "    count += 1;",
    `    if (count === ${count}) break;`,
    "  }",
    `  ${script.log("l")}`,
    "})();",
  ];
}

export function emitError(script) {
  const name = emitter(script);
  if (script.random.chance(50)) {
    return [`${name}.once("error", (error) => log("${script.label("c")}", error.message));`];
  }
  return [
    "try {",
    `  ${name}.emit("error", new Error("${script.label("v")}"));`,
    `  ${script.log("s")}`,
    "} catch (error) {",
    `  log("${script.label("c")}", error.message);`,
    "}",
  ];
}

export function throwingListener(script) {
  const name = emitter(script);
  return [
    `${name}.once("z", () => { ${script.log("l")} throw new Error("${script.label("v")}"); });`,
    `${name}.once("z", () => ${script.log("l").slice(0, -1)});`,
    "try {",
    `  ${name}.emit("z");`,
    "} catch (error) {",
    `  log("${script.label("c")}", error.message);`,
    "}",
  ];
}

export function captured(script) {
  script.import("EventEmitter", "node:events");
  const label = script.label("c");
  return [
    "{",
    "  const loud = new EventEmitter({ captureRejections: true });",
    `  loud.on("error", (error) => log("${label}", error.message));`,
    `  loud.on("x", async () => { ${script.log("l")} throw new Error("${script.label("v")}"); });`,
    '  loud.emit("x");',
    `  ${script.log("s")}`,
    "}",
  ];
}

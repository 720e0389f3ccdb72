// EventTarget and Event.

function target(script) {
  if (!script.names.has("et")) {
    script.name("et");
    script.prelude.push("const target = new EventTarget();");
  }
  return "target";
}

const event = (script) => script.random.pick(["x", "y"]);

export function listen(script) {
  const name = target(script);
  const options = script.random.pick(["", "", ", { once: true }", ", true", ", { passive: true }"]);
  return script.handler(`${name}.addEventListener("${event(script)}", `, "l", `${options});`);
}

export function listenObject(script) {
  const label = script.label("l");
  return [
    `${target(script)}.addEventListener("${event(script)}", ` +
      `{ handleEvent(event) { log("${label}", event.type, event.eventPhase); } });`,
  ];
}

export function stop(script) {
  const method = script.random.pick(["stopImmediatePropagation", "stopPropagation", "preventDefault"]);
  const label = script.label("l");
  return [
    `${target(script)}.addEventListener("${event(script)}", ` +
      `(event) => { event.${method}(); log("${label}", event.defaultPrevented); }, { once: true });`,
  ];
}

// A listener that adds and removes others while the event is under way.
export function change(script) {
  const name = target(script);
  const type = event(script);
  const later = script.name("later");
  script.prelude.push(`const ${later} = () => ${script.log("l").slice(0, -1)};`);
  return [
    `${name}.addEventListener("${type}", () => {`,
    `  ${script.log("l")}`,
    `  ${name}.${script.random.pick(["add", "remove"])}EventListener("${type}", ${later});`,
    "});",
    ...(script.random.chance(50) ? [`${name}.addEventListener("${type}", ${later});`] : []),
  ];
}

export function dispatch(script, cx) {
  if (cx.time === null) {
    return undefined;
  }
  const name = target(script);
  const make = script.random.pick([
    'new Event("x")',
    'new Event("y")',
    'new Event("x", { cancelable: true })',
    'new CustomEvent("y", { detail: 1, cancelable: true })',
  ]);
  return [`log("${script.label("s")}", ${name}.dispatchEvent(${make}));`];
}

// A listener's error does not stop the others; it is uncaught afterwards.
export function throwingListener(script, cx) {
  if (!cx.free) {
    return undefined;
  }
  const name = target(script);
  const type = script.label("z");
  return [
    `${name}.addEventListener("${type}", () => { throw new Error("${script.label("e")}"); });`,
    ...script.callback(`${name}.addEventListener("${type}", `, cx, "l", ");"),
    `${name}.dispatchEvent(new Event("${type}"));`,
    script.log("s"),
  ];
}

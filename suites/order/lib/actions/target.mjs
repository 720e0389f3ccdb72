// EventTarget and Event. Where Node and the DOM differ, mainspring does what the DOM says, and these scripts
// avoid it: listeners that capture, and listeners that are added while an event of their type is under way.

import { mayThrowInTick } from "../schedule.mjs";

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
  const options = script.random.pick(["", "", ", { once: true }", ", { passive: true }"]);
  return script.handler(`${name}.addEventListener("${event(script)}", `, "l", `${options});`);
}

export function listenObject(script) {
  const label = script.label("l");
  return [
    `${target(script)}.addEventListener("${event(script)}", ` +
      `{ handleEvent(event) { log("${label}", event.type); } });`,
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

// A listener that removes another while the event is under way.
export function remove(script) {
  const name = target(script);
  const type = event(script);
  const other = script.name("other");
  script.prelude.push(`const ${other} = () => ${script.log("l").slice(0, -1)};`);
  const lines = [
    `${name}.addEventListener("${type}", () => {`,
    `  ${script.log("l")}`,
    `  ${name}.removeEventListener("${type}", ${other});`,
    "});",
  ];
  const add = `${name}.addEventListener("${type}", ${other});`;
  return script.random.chance(50) ? [...lines, add] : [add, ...lines];
}

export function dispatch(script) {
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
  if (!mayThrowInTick(cx)) {
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

// Errors nobody catches, rejections nobody handles, and the end of the process.

import { mayStart, place, starts } from "../schedule.mjs";

const REPORT = "log(\"uncaught\", error?.message ?? error, origin);";

export function catchUncaught(script) {
  const [head, ...rest] = script.handler('process.on("uncaughtException", ', "U", ");", "error, origin");
  const lines = [head, `  ${REPORT}`, ...rest];
  if (script.random.chance(30)) {
    lines.push(
      'process.on("uncaughtExceptionMonitor", (error, origin) => ' +
        'log("monitor", error?.message ?? error, origin));',
    );
  }
  if (script.random.chance(25)) {
    lines.push(`process.once("uncaughtException", () => ${script.log("U").slice(0, -1)});`);
  }
  return lines;
}

// Promises whose rejection is reported have a name.
export function watchRejections(script) {
  const [head, ...rest] = script.handler('process.on("unhandledRejection", ', "R", ");", "reason, promise");
  const lines = [
    "const lost = new Map();",
    head,
    '  log("unhandled", reason?.message ?? reason, lost.get(promise));',
    ...rest,
  ];
  const [again, ...after] = script.handler('process.on("rejectionHandled", ', "H", ");", "promise");
  return [...lines, again, '  log("handled", lost.get(promise));', ...after];
}

// A rejected promise that is handled too late, or never.
export function rejection(script, cx) {
  const name = script.name("lost");
  const value = `"${script.label("r")}"`;
  const make = script.random.pick([
    `Promise.reject(new Error(${value}))`,
    `Promise.reject(${value})`,
    `(async () => { throw new Error(${value}); })()`,
    `(async () => { await null; throw new Error(${value}); })()`,
    `new Promise((_, reject) => process.nextTick(reject, new Error(${value})))`,
    `new Promise(() => { throw new Error(${value}); })`,
    `Promise.resolve().then(() => { throw new Error(${value}); })`,
    `Promise.reject(new Error(${value})).finally(() => {})`,
    `Promise.all([Promise.reject(new Error(${value})), null])`,
    `Promise.reject(undefined)`,
  ]);
  const catching = `${name}.catch(() => ${script.log("c").slice(0, -1)})`;
  const ways = [
    "",
    "",
    `process.nextTick(() => ${catching});`,
    `queueMicrotask(() => ${catching});`,
    `Promise.resolve().then(() => ${catching});`,
    `${catching};`,
  ];
  if (mayStart(cx, "immediates")) {
    ways.push(`setImmediate(() => ${catching});`);
    ways.push(`setImmediate(() => process.nextTick(() => ${catching}));`);
  }
  const slot = script.random.chance(30) ? script.schedule.single(cx) : undefined;
  const way = slot ? `setTimeout(() => ${catching}, ${slot.delay});` : script.random.pick(ways);
  if (way.startsWith("setImmediate")) {
    starts(cx);
  }
  script.prelude.push(`let ${name};`);
  return [`${name} = ${make};`, `lost.set(${name}, "${name}");`, ...(way === "" ? [] : [way])];
}

// Without a handler for rejections it is an uncaught exception.
export function uncaughtRejection(script) {
  const value = `"${script.label("r")}"`;
  return [
    script.random.pick([
      `Promise.reject(new Error(${value}));`,
      `(async () => { await null; throw new Error(${value}); })();`,
      `Promise.resolve().then(() => { throw new Error(${value}); });`,
      `Promise.reject(${value}).finally(() => ${script.log("y").slice(0, -1)});`,
    ]),
  ];
}

export function warn(script) {
  return [`process.emitWarning("${script.label("v")}");`, script.log("s")];
}

export function catchWarnings(script) {
  return ['process.on("warning", (warning) => log("warning", warning.message));'];
}

// The handlers of the end. What they start is not run in "exit", and is in "beforeExit".
export function watchExit(script) {
  const where = () => place(null, script.random.pick(["immediates", "zero"]), false);
  const lines = [];
  if (script.random.chance(80)) {
    const [head, ...rest] = script.callback('process.on("exit", ', { depth: 2 }, "E", ");", {
      place: where(),
      params: "code",
    });
    lines.push(head, '  log("exit", code, process.exitCode);', ...rest);
  }
  if (script.random.chance(80)) {
    const [head, ...rest] = script.callback('process.on("beforeExit", ', { depth: 2 }, "B", ");", {
      place: where(),
      params: "code",
    });
    const name = script.name("rounds");
    const count = script.random.between(1, 2);
    lines.push(
      `let ${name} = 0;`,
      head,
      '  log("beforeExit", code);',
      `  if (++${name} > ${count}) return;`,
      ...rest,
    );
  }
  return lines;
}

// An error in the handler of errors is the end.
export function failToCatch(script) {
  return [
    'process.on("uncaughtException", (error) => {',
    '  log("uncaught", error?.message);',
    `  throw new Error("${script.label("e")}");`,
    "});",
  ];
}

export function exitCode(script) {
  return [`process.exitCode = ${script.random.between(0, 5)};`];
}

export function exit(script) {
  if (script.names.has("exits") || script.random.chance(60)) {
    return undefined;
  }
  script.name("exits");
  return [script.log("s"), `process.exit(${script.random.pick(["", "0", "3"])});`];
}

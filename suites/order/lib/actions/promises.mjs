// Combinators, thenables and subclasses of Promise.

import { chain } from "./core.mjs";

const INPUTS = [
  (script, value) => value,
  (script, value) => `Promise.resolve(${value})`,
  (script, value) => `Promise.reject(new Error(${value}))`,
  (script, value) => `new Promise((resolve) => process.nextTick(resolve, ${value}))`,
  (script, value) => `new Promise((resolve) => queueMicrotask(() => resolve(${value})))`,
  (script, value) => `new Promise((_, reject) => process.nextTick(reject, new Error(${value})))`,
  (script, value) => `(async () => { await null; return ${value}; })()`,
  (script, value) => `(async () => { await null; throw new Error(${value}); })()`,
  (script, value) => `{ then(resolve) { ${script.log("h")} resolve(${value}); } }`,
  (script, value) => `Promise.resolve(${value}).then((value) => Promise.resolve(value))`,
  (script, value) => `Promise.reject(new Error(${value})).finally(() => ${script.log("y").slice(0, -1)})`,
];

const COMBINATORS = {
  all: ["value", "error.message"],
  race: ["value", "error.message"],
  any: ["value", "error.errors.map((one) => one.message)"],
  allSettled: ["value.map((one) => one.value ?? one.reason.message)", "error"],
};

export function combinator(script, cx) {
  const [name, [value, error]] = script.random.pick(Object.entries(COMBINATORS));
  const inputs = Array.from({ length: script.random.between(0, 4) }, () => {
    return script.random.pick(INPUTS)(script, `"${script.label("v")}"`);
  });
  const label = script.label("k");
  const lines = [
    `Promise.${name}([`,
    ...inputs.map((input) => `  ${input},`),
    `]).then((value) => log("${label}", ${value}), (error) => log("${label}", ${error}))`,
  ];
  return chain(script, lines, cx);
}

const THENABLES = [
  (script, value) => [`resolve(${value});`],
  (script, value) => [`resolve(${value});`, "reject(new Error());", "throw new Error();"],
  (script, value) => [`reject(new Error(${value}));`],
  (script, value) => [`throw new Error(${value});`],
  (script, value) => [`process.nextTick(resolve, ${value});`],
  (script, value) => [`queueMicrotask(() => resolve(${value}));`],
  (script, value) => [`Promise.resolve(${value}).then(resolve, reject);`],
  (script, value) => [`resolve(Promise.resolve(${value}));`],
  (script, value) => [`resolve({ then(next) { ${script.log("h")} next(${value}); } });`],
];

function thenable(script) {
  const body = script.random.pick(THENABLES)(script, `"${script.label("v")}"`);
  const text = `${script.log("h")} ${body.join(" ")}`;
  return script.random.pick([
    `{ then(resolve, reject) { ${text} } }`,
    `{ get then() { ${script.log("o")} return (resolve, reject) => { ${text} }; } }`,
    `Object.assign(() => {}, { then(resolve, reject) { ${text} } })`,
  ]);
}

export function adopt(script, cx) {
  const label = script.label("k");
  const object = thenable(script);
  const start = script.random.pick([
    `Promise.resolve(${object})`,
    `new Promise((resolve) => resolve(${object}))`,
    `Promise.resolve().then(() => (${object}))`,
    `(async () => (${object}))()`,
    `(async () => { return await (${object}); })()`,
    `Promise.resolve().finally(() => (${object}))`,
    `Promise.reject(new Error()).catch(() => (${object}))`,
  ]);
  const reactions = `(value) => log("${label}", value), (error) => log("${label}", error.message)`;
  return chain(script, [`${start}.then(${reactions})`], cx);
}

// A subclass that says when it is used.
export function subclass(script, cx) {
  if (!script.names.has("Sub")) {
    script.name("Sub");
    script.prelude.push(
      "class Loud extends Promise {",
      "  static get [Symbol.species]() {",
      `    ${script.log("q")}`,
      "    return Promise;",
      "  }",
      "  then(...args) {",
      `    ${script.log("q")}`,
      "    return super.then(...args);",
      "  }",
      "}",
    );
  }
  const value = `"${script.label("v")}"`;
  const start = script.random.pick([
    `Loud.resolve(${value})`,
    `Promise.resolve(Loud.resolve(${value}))`,
    `(async () => Loud.resolve(${value}))()`,
    `(async () => { return await Loud.resolve(${value}); })()`,
    `Loud.all([${value}, Loud.resolve(), Promise.resolve()])`,
    `Loud.reject(new Error()).catch(() => ${value})`,
    `new Loud((resolve) => resolve(Loud.resolve(${value})))`,
  ]);
  return chain(script, [`${start}.then((value) => log("${script.label("k")}", value))`], cx);
}

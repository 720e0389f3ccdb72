"use strict";

// Calls of the console, for what they write to stdout and stderr. Times and frames differ from run to run.
const { Console } = console;

console.log();
console.log("");
console.log("text");
console.log("a", "b", 1, -0, 1.5, true, false, null, undefined);
console.log(undefined);
console.log(null);
console.log(5);
console.log(-0);
console.log(5n, Symbol("s"));
console.log("%s", 1, "x");
console.log("%s is %d and %j", "a", 5, { b: 1 });
console.log("%%", "%%");
console.log("%%");
console.log("100%");
console.log("100%", "x");
console.log("x", "%s", 1);
console.log(1, "%s", "x");
console.log({ a: 1 }, [1, 2], "s", new Map([[1, 2]]));
console.log([1, 2, 3].map(String));
console.log("a\nb", { c: "d\ne" });
console.log("%c styled", "color: red");
console.log(() => {}, class A {}, function f() {});
console.info("info", { a: 1 });
console.debug("debug", 1);
console.warn("warn", { a: 1 });
console.error("error", [1]);
console.error();
console.dir({ a: { b: { c: { d: 1 } } } });
console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
console.dir({ a: { b: { c: { d: 1 } } } }, { depth: null, compact: false });
console.dir("text");
console.dir();
console.dir({ [Symbol.for("nodejs.util.inspect.custom")]: () => "custom" });
console.dirxml({ a: 1 }, [2], "x");

console.group("group", "%s", 1);
console.log("inside\ntwo lines");
console.error("error inside");
console.group();
console.log({ a: "x".repeat(40), b: "y".repeat(40) });
console.dir({ a: 1 });
console.table([{ a: 1 }]);
console.groupEnd();
console.groupCollapsed({ a: 1 });
console.warn("two\nlines");
console.groupEnd();
console.groupEnd();
console.groupEnd();
console.log("outside");
console.group(Symbol("s"));
console.groupEnd();

console.count();
console.count();
console.count("x");
console.count(null);
console.count(undefined);
console.count({});
console.countReset();
console.count();
console.countReset("x");
console.count("x");

console.assert(true, "not shown");
console.assert(1);
console.assert(false);
console.assert(false, "message %s", 5);
console.assert(false, { a: 1 });
console.assert(0, "a", "b", { c: 1 });
console.assert();

for (const data of [
  [{ a: 1, b: "x" }, { a: 2, c: true }],
  [[1, 2], [3]],
  [1, "a", null, undefined, -0, 1n, Symbol("s")],
  [{ a: 1 }, 2, [3]],
  { r1: { a: 1 }, r2: 5 },
  { r1: [1, 2], r2: { x: { y: { z: 1 } } } },
  new Map([["a", 1], ["b", { x: 1 }]]),
  new Map(),
  new Set([1, "z", { a: 1 }]),
  [],
  {},
  5,
  "text",
  null,
  undefined,
  [{ name: "日本" }, { name: "x" }, { name: "e\u0301" }],
  [{ text: "two\nlines" }],
  [{ f() {}, c: class C {}, d: new Date(0) }],
  [new Date(0), /x/, () => {}],
  [{ big: { a: 1, b: 2, c: 3 }, small: { a: 1, b: { c: 1 } }, list: [1, 2, 3, 4, 5] }],
  new Uint8Array(3),
  Object.create({ inherited: 1 }),
  [Object.create({ inherited: 1 })],
  (function () { return arguments; })(1, { a: 2 }),
]) {
  console.table(data);
}
console.table([{ a: 1, b: 2 }, { b: 3 }], ["b"]);
console.table([{ a: 1, b: 2 }], ["z", "a"]);
console.table([{ a: 1 }, 5], ["a"]);
console.table([{ a: 1 }], []);
console.table([1, 2], ["a"]);
attempt(() => console.table([1], 5));

const { log, error } = console;
log("unbound");
error("unbound");
[1, 2].forEach(console.log);
log(log.name, console.table.name, typeof console.Console);
log(Object.keys(console).slice(0, 19).join());
log(String(console), Object.prototype.toString.call(console));
log(console instanceof Console, {} instanceof Console);

function attempt(call) {
  try {
    call();
  } catch (thrown) {
    console.log(thrown.name, thrown.code, thrown.message);
  }
}

attempt(() => new Console());
attempt(() => new Console({}));
attempt(() => new Console({ stdout: {} }));

class Memory {
  texts = [];
  write(...args) {
    this.texts.push(args[0]);
    return true;
  }
  on() {}
  once() {}
  removeListener() {}
  listenerCount() {
    return 0;
  }
}

const out = new Memory();
const err = new Memory();
attempt(() => new Console({ stdout: out, stderr: {} }));
attempt(() => new Console({ stdout: out, groupIndentation: -1 }));
attempt(() => new Console({ stdout: out, groupIndentation: "a" }));
attempt(() => new Console({ stdout: out, groupIndentation: 1.5 }));
attempt(() => new Console({ stdout: out, colorMode: "a" }));
attempt(() => new Console({ stdout: out, inspectOptions: 5 }));
attempt(() => new Console({ stdout: out, inspectOptions: { colors: true }, colorMode: true }));

const own = new Console({ stdout: out, stderr: err, groupIndentation: 4, inspectOptions: { depth: 0, colors: true } });
own.log("x", { a: { b: 1 } });
own.group("g");
own.log("y");
own.error("e");
own.groupEnd();
own.table([1]);
own.dir({ a: { b: 1 } });
own.dir({ a: { b: 1 } }, { depth: 5 });
own.log(5, "%s");
own.warn("%s", 5);
own.count();
own.assert(false, "q");
const colored = new Console({ stdout: out, colorMode: true });
colored.log({ a: 1 }, 5, "s");
colored.error("to stdout", null);
colored.clear();
const old = Console(out, err);
old.log(1);
old.error({ a: 1 });
class Sub extends Console {
  constructor(stream) {
    super(stream);
  }
  log(...args) {
    super.log("sub", ...args);
  }
}
const sub = new Sub(out);
sub.log(1);
sub.info(2);
sub.dirxml(3);
sub.count();
sub.table(1);
const { log: subLog } = sub;
subLog(4);
log(out.texts, err.texts);
log(own instanceof Console, Object.keys(own).join(), own[Symbol.toStringTag]);

const failing = new Memory();
failing.write = () => {
  throw new Error("cannot write");
};
attempt(() => new Console(failing).log("x"));
attempt(() => new Console({ stdout: failing, ignoreErrors: false }).log("x"));

console.trace();
console.trace("message %s", 1, { a: 1 });
console.time();
console.timeLog();
console.timeEnd();
console.time("label");
console.timeLog("label", "more", { a: 1 });
console.time("label");
console.timeEnd("label");
console.timeEnd("label");
console.timeLog("missing");
console.countReset("missing");

"use strict";

const util = require("node:util");

function t(call) {
  try {
    console.log(call());
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}

t(() => util.promisify(5));
t(() => util.callbackify(5));
t(() => util.inherits(class {}, 5));
t(() => util.inherits(null, Array));
t(() => util.inherits(class {}, null));
t(() => util.deprecate(() => {}, "x", 5));
t(() => util.stripVTControlCharacters(5));
t(() => util.styleText("red", "x"));
t(() => util.styleText(["red", "bold"], "x"));
t(() => util.styleText("zz", "x"));
t(() => util.styleText("red", 5));
t(() => util.styleText(5, "x"));
t(() => util.styleText("red", "x", { validateStream: false }));
t(() => util.styleText("grey", "x", { validateStream: false }));
t(() => util.styleText("red", "x", { validateStream: 5 }));

t(() => (util.inspect.defaultOptions = 5));
t(() => util.formatWithOptions(5));
t(() => util.formatWithOptions({ colors: true }, "%O", 5));
t(() => {
  util.inspect.defaultOptions = { depth: 0 };
  const shallow = util.inspect({ a: { b: 1 } });
  util.inspect.defaultOptions.depth = 2;
  return shallow + util.inspect({ a: { b: 1 } });
});
t(() => util.inspect.defaultOptions);
t(() => util.inspect({ a: { b: { c: {} } } }, false, 0, true));
t(() => util.inspect({ a: { b: { c: {} } } }, true, null));
t(() => util.inspect.colors.grey);
t(() => util.inspect.colors);
t(() => util.inspect.styles);
t(() => {
  util.inspect.styles.number = "red";
  const text = util.inspect(5, { colors: true });
  util.inspect.styles.number = "yellow";
  return text;
});
t(() => util.inspect.custom);

const add = (a, b, callback) => callback(null, a + b);
const addAsync = util.promisify(add);
console.log(addAsync.name, addAsync.length, Object.getPrototypeOf(addAsync) === Function.prototype);
console.log(util.promisify(addAsync) === addAsync, addAsync === util.promisify(add));
add[util.promisify.custom] = async () => 5;
console.log(util.promisify(add) === add[util.promisify.custom]);
console.log(Object.getOwnPropertyDescriptor(add[util.promisify.custom], util.promisify.custom));
t(() => util.promisify(Object.assign(() => {}, { [util.promisify.custom]: 5 })));
const failing = util.promisify((callback) => callback(new Error("x")));
const throwing = util.promisify(() => {
  throw new Error("at once");
});

const answer = util.callbackify(async function answer(error) {
  if (error) throw error;
  return 7;
});
console.log(answer.name, answer.length);
t(() => answer(1));

const old = util.deprecate(function old(a) {
  return a;
}, "old is old", "DEP1");
console.log(old.name, old.length, old(5), old(6));
util.deprecate(() => {}, "has the same code", "DEP1")();
util.deprecate(() => {}, "has no code")();
const Old = util.deprecate(class Old { static s = 1; x = new.target === Old; }, "class");
console.log(new Old(), Old.s);

class A {}
class B {}
util.inherits(A, B);
console.log(A.super_ === B, new A() instanceof B, Object.getOwnPropertyDescriptor(A, "super_"));
console.log(util.toUSVString("a\ud800b"), util.isArray([]), util.isDeepStrictEqual({ a: 1 }, { a: 1 }));
console.log(util.stripVTControlCharacters("\x1b[31mred\x1b[39m \x1b]8;;http://x\x07link\x1b]8;;\x07"));
console.log(new util.TextEncoder().encode("é"), new util.TextDecoder().decode(new Uint8Array([0xc3, 0xa9])));
console.log(util._extend({ a: 1 }, { b: 2 }), util._extend({ a: 1 }, null), util._extend({ a: 1 }, "x"));

const log = util.debuglog("foo");
console.log(log.enabled);
log("hello %s", 5, { a: 1 });
util.debuglog("bar")("not shown");
util.debuglog("foo-x")("wildcard");
util.debuglog("foo", (logger) => console.log("ready", typeof logger))("with a callback");

const values = {
  number: 1, text: "a", null: null, undefined, true: true, symbol: Symbol("s"), plain: {}, array: [], fn() {},
  date: new Date(), regexp: /x/, error: new Error(), typeError: new TypeError(),
  fakeError: Object.create(Error.prototype),
  map: new Map(), set: new Set(), weakMap: new WeakMap(), weakSet: new WeakSet(), weakRef: new WeakRef({}),
  mapIterator: new Map().keys(), setIterator: new Set().entries(), arrayIterator: [].keys(),
  buffer: new ArrayBuffer(1), shared: new SharedArrayBuffer(1), view: new DataView(new ArrayBuffer(1)),
  uint8: new Uint8Array(1), float32: new Float32Array(1), bigint64: new BigInt64Array(1),
  boxedNumber: new Number(1), boxedString: new String(""), boxedBoolean: new Boolean(true),
  boxedSymbol: Object(Symbol()), boxedBigint: Object(1n), promise: Promise.resolve(), proxy: new Proxy({}, {}),
  asyncFn: async () => {}, generatorFn: function* () {}, asyncGeneratorFn: async function* () {},
  generator: (function* () {})(), asyncGenerator: (async function* () {})(),
  args: (function () { return arguments; })(),
};
const tests = { ...util.types };
for (const name of [
  "isBoolean", "isNull", "isNullOrUndefined", "isNumber", "isString", "isSymbol", "isUndefined", "isRegExp", "isObject",
  "isDate", "isError", "isFunction", "isPrimitive", "isBuffer",
]) {
  tests[`util.${name}`] = util[name];
}
for (const name of Object.keys(tests).sort()) {
  if (name === "isKeyObject" || name === "isCryptoKey") continue;
  const found = Object.keys(values).filter((key) => tests[name](values[key]));
  console.log(name, found.join());
}

(async () => {
  await failing().catch((error) => console.log(error.message));
  await throwing().catch((error) => console.log(error.message));
  console.log(await util.promisify(setTimeout)(1, "timeout"), await util.promisify(setImmediate)("immediate"));
  await new Promise((done) => answer(0, (error, value) => done(console.log(error, value))));
  await new Promise((done) => answer(new Error("z"), (error, value) => done(console.log(error.message, value))));
  await new Promise((done) => {
    util.callbackify(() => Promise.reject(null))((error) => {
      done(console.log(error.name, error.code, error.message, error.reason));
    });
  });
})();

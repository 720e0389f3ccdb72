"use strict";

// One expression a line; behind ` ## `, the options it is inspected with.
const lines = String.raw`
undefined
null
true
false
0
-0
1
-1.5
1e21
1e-7
NaN
Infinity
-Infinity
123456789
0.1 + 0.2
0n
-123n
12345678901234567890n
Symbol()
Symbol("a")
Symbol("a b")
Symbol.iterator
Symbol.for("x")
Symbol("a\nb")
""
"abc"
"it's"
"say \"x\""
"both ' and \""
"all ' \" and ${"`"}"
"both ' and \" with ${"$"}{x}"
"a\nb"
"tab\tcr\rff\fbs\bvt\v"
"\x00\x01\x1b\x7f\x80\x9f\xa0"
"back\\slash"
"\ud83d"
"\ud83d\ude00"
"\ude00x\ud83d"
"\u2028\u2029"
"ünïcödé 日本語"
"x".repeat(100)
"line\n".repeat(30)
"a".repeat(60) + "\n" + "b".repeat(60)
["a".repeat(60) + "\n" + "b".repeat(60)]
({ key: "a".repeat(60) + "\n" + "b".repeat(60) })
({ a: { b: { c: "some text\nthat has several\nlines in it, and is long\nenough to be broken\n" } } })
"short\ntext"
"0123456789\n0123456789\n0123456789\n0123456789\n0123456789\n0123456789\n0123456789\n" ## { compact: true }
"a\n\nb\n".repeat(20)
"abc" ## { maxStringLength: 2 }
"abcdef" ## { maxStringLength: 2 }
"abcdef" ## { maxStringLength: 0 }
"x".repeat(10001)
"x".repeat(10010) ## { maxStringLength: null }
["abcdef", "ab"] ## { maxStringLength: 3 }
({})
({ a: 1 })
({ a: 1, b: "x", c: null, d: undefined, e: true, f: 1n, g: Symbol("s") })
({ a: {} })
({ a: { b: {} } })
({ a: { b: { c: {} } } })
({ a: { b: { c: { d: 1 } } } })
({ a: { b: { c: { d: 1 } } } }) ## { depth: 0 }
({ a: { b: { c: { d: 1 } } } }) ## { depth: 1 }
({ a: { b: { c: { d: 1 } } } }) ## { depth: 5 }
({ a: { b: { c: { d: { e: { f: { g: {} } } } } } } }) ## { depth: null }
({ a: { b: { c: { d: { e: { f: { g: {} } } } } } } }) ## { depth: Infinity }
({ a: {} }) ## { depth: -1 }
[] ## { depth: -1 }
[1] ## { depth: -1 }
new Map() ## { depth: -1 }
new Map([[1, 2]]) ## { depth: -1 }
new Set([1]) ## { depth: -1 }
new Uint8Array(2) ## { depth: -1 }
new ArrayBuffer(2) ## { depth: -1 }
Promise.resolve(1) ## { depth: -1 }
/a/ ## { depth: -1 }
Object.assign(/a/, { x: 1 }) ## { depth: -1 }
Object.assign(new Date(0), { x: 1 }) ## { depth: -1 }
Object.assign(() => {}, { x: 1 }) ## { depth: -1 }
Object.create(null) ## { depth: -1 }
Object.assign(Object.create(null), { a: 1 }) ## { depth: -1 }
Object.setPrototypeOf([1], null) ## { depth: -1 }
Object.setPrototypeOf(new Map([[1, 2]]), null) ## { depth: -1 }
new (class Foo { x = 1 })() ## { depth: -1 }
Object.assign(new String("ab"), { x: 1 }) ## { depth: -1 }
Object.assign(new Error("x"), { code: 1 }) ## { depth: -1 }
(function () { return arguments; })(1) ## { depth: -1 }
({ [Symbol.toStringTag]: "T", a: 1 }) ## { depth: -1 }
Object.create({ [Symbol.toStringTag]: "T" }, { a: { value: 1, enumerable: true } }) ## { depth: -1 }
({ "a-b": 1, "1": 2, "a b": 3, "": 4, $x: 5, _y: 6, ü: 7, "it's": 8, "x\ny": 9 })
({ ["__proto__"]: 1 })
({ __proto__: { a: 1 }, b: 2 })
({ [Symbol("k")]: 1, [Symbol.iterator]: 2, [Symbol()]: 3 })
({ [Symbol("a\nb'c")]: 1 })
Object.defineProperty({}, "hidden", { value: 1 })
Object.defineProperty({ a: 1 }, "hidden", { value: 1 }) ## { showHidden: true }
Object.defineProperty({ a: 1 }, "hid den", { value: { b: 1 } }) ## { showHidden: true }
Object.defineProperty({ a: 1 }, Symbol("h"), { value: 1 })
Object.defineProperty({ a: 1 }, Symbol("h"), { value: 1 }) ## { showHidden: true }
({ get a() { return 1; } })
({ set a(v) {} })
({ get a() { return 1; }, set a(v) {} })
({ get a() { return 1; } }) ## { getters: true }
({ get a() { return { b: 1 }; }, set a(v) {} }) ## { getters: true }
({ get a() { return null; } }) ## { getters: true }
({ get a() { return "x"; }, get b() { return undefined; }, get c() { return Symbol("q"); } }) ## { getters: true }
({ get a() { return 1; }, set a(v) {}, get b() { return 2; } }) ## { getters: "get" }
({ get a() { return 1; }, set a(v) {}, get b() { return 2; } }) ## { getters: "set" }
({ get a() { throw new Error("oops"); } }) ## { getters: true }
({ get a() { return { b: { c: { d: { e: 1 } } } }; } }) ## { getters: true }
({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9, j: 10, k: 11, l: 12, m: 13, n: 14 })
({ alpha: "alpha", beta: "beta", gamma: "gamma", delta: "delta", epsilon: "epsilon" })
({ alpha: "alpha", beta: "beta", gamma: "gamma", delta: "delta", epsilon: "epsilon!" })
({ alpha: "alpha", beta: "beta", gamma: "gamma", delta: "delta", epsilon: "epsilon!!!!!!!" })
({ a: [1, 2, [3, 4, [5, [6]]]], b: { c: { d: { e: {} } } } })
({ a: [1, 2, [3, 4, [5, [6]]]], b: { c: { d: { e: {} } } } }) ## { compact: false }
({ a: [1, 2, [3, 4, [5, [6]]]], b: { c: { d: { e: {} } } } }) ## { compact: true }
({ a: [1, 2, [3, 4, [5, [6]]]], b: { c: { d: { e: {} } } } }) ## { compact: 1 }
({ a: [1, 2, [3, 4, [5, [6]]]], b: { c: { d: { e: {} } } } }) ## { compact: 0 }
({ a: [1, 2, [3, 4, [5, [6]]]], b: { c: { d: { e: {} } } } }) ## { compact: 2, depth: 9 }
({ a: [1, 2, [3, 4, [5, [6]]]], b: { c: { d: { e: {} } } } }) ## { breakLength: 20 }
({ a: [1, 2, [3, 4, [5, [6]]]], b: { c: { d: { e: {} } } } }) ## { breakLength: Infinity }
({ a: [1, 2, [3, 4, [5, [6]]]], b: { c: { d: { e: {} } } } }) ## { compact: true, breakLength: 20 }
({ a: [1, 2, [3, 4, [5, [6]]]], b: { c: { d: { e: {} } } } }) ## { compact: 3, breakLength: 1 }
({ a: "x".repeat(90), b: { c: "y".repeat(90) } }) ## { compact: true }
({ a: { b: "x".repeat(100), c: [1, 2, 3] }, d: 1 }) ## { compact: true, breakLength: 40 }
[[[[[]]]]]
[[[[[1]]]]]
[[[[1, 2, 3], [4, 5, 6]], []], {}]
({ x: { y: { z: {} } }, w: [[[{}]]] })
[]
[1]
[1, 2, 3]
[1, "a", null, undefined, true, {}]
[undefined, null]
[, ]
[1, , 3]
[, , 1, , , 2, , ]
new Array(5)
new Array(3).fill(0)
Object.assign([1, 2], { x: 1 })
Object.assign([], { x: 1 })
Object.assign([1, , 3], { "-1": 1, y: { z: 1 } })
Object.assign([1, 2], { [Symbol("s")]: 1 })
Object.assign(new Array(3), { 4294967295: "x" })
Array.from({ length: 7 }, (_, i) => i)
Array.from({ length: 10 }, (_, i) => i * 100)
Array.from({ length: 27 }, (_, i) => i)
Array.from({ length: 100 }, (_, i) => i)
Array.from({ length: 101 }, (_, i) => i)
Array.from({ length: 200 }, (_, i) => i * i)
Array.from({ length: 30 }, (_, i) => "item" + i)
Array.from({ length: 30 }, (_, i) => "x".repeat(i))
Array.from({ length: 12 }, (_, i) => ({ i }))
Array.from({ length: 12 }, (_, i) => [i, i])
Array.from({ length: 8 }, (_, i) => (i % 2 ? "odd" : i))
Array.from({ length: 20 }, (_, i) => (i % 3 ? null : undefined))
Array.from({ length: 20 }, (_, i) => BigInt(i) ** 3n)
Array.from({ length: 20 }, (_, i) => i / 7)
Array.from({ length: 20 }, (_, i) => -i)
Array.from({ length: 16 }, (_, i) => "日本".repeat(i % 4))
Array.from({ length: 16 }, (_, i) => "😀e\u0301".repeat(i % 4))
Array.from({ length: 40 }, (_, i) => i) ## { maxArrayLength: 10 }
Array.from({ length: 40 }, (_, i) => i) ## { maxArrayLength: 3 }
Array.from({ length: 40 }, (_, i) => i) ## { maxArrayLength: 0 }
Array.from({ length: 40 }, (_, i) => i) ## { maxArrayLength: 39 }
Array.from({ length: 40 }, (_, i) => i) ## { maxArrayLength: null }
Array.from({ length: 40 }, (_, i) => i) ## { maxArrayLength: -1 }
Array.from({ length: 40 }, (_, i) => i) ## { compact: false }
Array.from({ length: 40 }, (_, i) => i) ## { compact: 1 }
Array.from({ length: 40 }, (_, i) => i) ## { compact: true }
Array.from({ length: 40 }, (_, i) => i) ## { breakLength: 40 }
Array.from({ length: 40 }, (_, i) => i) ## { breakLength: 200 }
Array.from({ length: 40 }, (_, i) => i) ## { breakLength: Infinity }
Array.from({ length: 40 }, (_, i) => i) ## { colors: true }
Array.from({ length: 40 }, (_, i) => "s" + i) ## { colors: true, breakLength: 60 }
({ list: Array.from({ length: 40 }, (_, i) => i) })
({ a: { list: Array.from({ length: 40 }, (_, i) => "k" + i), n: 1 } })
[Array.from({ length: 40 }, (_, i) => i), 1, 2]
Object.assign(Array.from({ length: 40 }, (_, i) => i), { extra: "value" })
Object.assign(Array.from({ length: 10 }, (_, i) => "ab"), { extra: "value that is somewhat longer" })
[, , 1, 2, 3, 4, 5, 6, 7, 8, , 9]
new Array(200).fill(1).map((x, i) => (i % 50 ? x : undefined))
(() => { const a = []; a[5] = 1; a[100] = 2; return a; })()
(() => { const a = []; a[5] = 1; a[100] = 2; a[150] = 3; return a; })() ## { maxArrayLength: 2 }
(() => { const a = []; a[5] = 1; a[100] = 2; a[150] = 3; return a; })() ## { maxArrayLength: 3 }
(() => { const a = [1, 2]; a[5] = 1; a.x = 1; return a; })() ## { maxArrayLength: 3 }
(() => { const a = [1, 2]; a.length = 10; return a; })()
[1, 2, 3] ## { showHidden: true }
[[1], [2]] ## { showHidden: true }
[get => 1, async () => {}]
new (class Foo extends Array {})(3)
new (class Foo extends Array {})(1, 2)
new (class Foo extends Array {})()
Object.setPrototypeOf([1, 2], null)
Object.setPrototypeOf([], null)
Object.assign([1], { [Symbol.toStringTag]: "Tag" })
Object.defineProperty([1], Symbol.toStringTag, { value: "Tag" })
["a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg", "hhhhhhhh"]
["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "b", "c", "d", "e", "f", "g"]
["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "c", "d", "e", "f", "g"]
[1.5, 22.25, 333.125, 4, 55, 666, 7777, 88888]
[1, 22, 333, 4444, 55555, 666666, 7777777, "x"]
[true, false, true, false, true, false, true]
[[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12], [13, 14]]
[{ a: 1, b: 2 }, { a: 1, b: 2 }, { a: 1, b: 2 }, { a: 1, b: 2 }]
new Map()
new Map([[1, 2]])
new Map([["a", { b: 1 }], [{ c: 1 }, [1, 2]]])
new Map([["a", new Map([["b", new Map([["c", new Map([["d", 1]])]])]])]])
new Map(Array.from({ length: 120 }, (_, i) => [i, i]))
new Map(Array.from({ length: 5 }, (_, i) => [i, i])) ## { maxArrayLength: 2 }
new Map([["a", "x".repeat(40)], ["b", "y".repeat(40)]])
Object.assign(new Map([[1, 2]]), { extra: 1 })
Object.assign(new Map(), { extra: 1 })
new (class Foo extends Map {})([[1, 2]])
new (class extends Map {})([[1, 2]])
Object.setPrototypeOf(new Map([[1, 2]]), null)
new Map([[NaN, -0], [null, undefined]])
new Map([["a\nb", "c\nd"]])
new Map([[1, 2], [3, 4]]) ## { sorted: true }
new Map([["b", 2], ["a", 4]]) ## { sorted: true }
new Map([[1, { a: { b: { c: 1 } } }]]) ## { depth: 1 }
new Map([[1, 2]]) ## { showHidden: true }
new Set()
new Set([1, "a", {}, [1]])
new Set(Array.from({ length: 120 }, (_, i) => i))
new Set(Array.from({ length: 5 }, (_, i) => i)) ## { maxArrayLength: 2 }
new Set(["x".repeat(40), "y".repeat(40)])
Object.assign(new Set([1]), { extra: 1 })
new (class Bar extends Set {})([1])
Object.setPrototypeOf(new Set([1]), null)
Object.setPrototypeOf(new Set(), null)
new Set([3, 1, 2]) ## { sorted: true }
new Set([[1, 2, 3], { a: { b: { c: {} } } }])
new WeakMap()
new WeakSet()
new WeakRef({ a: 1 })
Object.assign(new WeakMap(), { x: 1 })
Object.setPrototypeOf(new WeakSet(), null)
new (class WM extends WeakMap {})()
new Uint8Array()
new Uint8Array(3)
new Uint8Array([1, 2, 255])
new Uint8Array(200)
new Int16Array([-1, 2, 3])
new Float32Array([1.5, -0, NaN])
new Float64Array([0.1, 1e100])
new BigInt64Array([1n, -2n])
new BigUint64Array(8)
new Uint8ClampedArray([300, -5])
new Uint32Array([1234567, 12345678]) ## { numericSeparator: true }
new Uint8Array(12) ## { maxArrayLength: 3 }
new Uint8Array(2) ## { showHidden: true }
new BigInt64Array(1) ## { showHidden: true }
Object.assign(new Uint8Array(2), { x: 1 })
new (class Foo extends Uint8Array {})(2)
Object.setPrototypeOf(new Uint8Array(2), null)
Object.setPrototypeOf(new Float64Array(0), null)
new ArrayBuffer(0)
new ArrayBuffer(4)
new Uint8Array([1, 2, 171]).buffer
new ArrayBuffer(60)
new ArrayBuffer(51) ## { maxArrayLength: 50 }
new ArrayBuffer(60) ## { maxArrayLength: 50 }
new ArrayBuffer(4) ## { showHidden: true }
Object.assign(new ArrayBuffer(2), { x: 1 })
new (class AB extends ArrayBuffer {})(2)
new SharedArrayBuffer(2)
new DataView(new ArrayBuffer(4), 1)
Object.assign(new DataView(new ArrayBuffer(4)), { x: 1 })
({ view: new DataView(new ArrayBuffer(2)) })
({ view: { deep: new DataView(new ArrayBuffer(2)) } })
Promise.resolve(1)
Promise.resolve()
Promise.resolve({ a: { b: { c: { d: 1 } } } })
Promise.resolve("x".repeat(100))
new Promise(() => {})
(() => { const p = Promise.reject(3); p.catch(() => {}); return p; })()
(() => { const p = Promise.reject({ a: 1 }); p.catch(() => {}); return p; })()
(() => { const p = Promise.reject(new RangeError("r")); p.catch(() => {}); return p; })()
Object.assign(Promise.resolve(1), { extra: 1 })
new (class MyPromise extends Promise {})(() => {})
Object.setPrototypeOf(Promise.resolve(1), null)
[Promise.resolve([1, 2]), new Promise(() => {})]
Promise.resolve(Promise.resolve(5))
(async () => 5)()
new Proxy({ a: 1 }, {})
new Proxy([1, 2], {})
new Proxy(() => {}, {})
new Proxy(class Q {}, {})
new Proxy(new Map([[1, 2]]), {})
new Proxy(new Proxy({ a: 1 }, {}), {})
new Proxy({ a: 1, get b() { return 1; } }, { get() { throw 1; }, ownKeys() { throw 2; } })
new Proxy({ a: 1 }, {}) ## { showProxy: true }
new Proxy([1, 2], { get() {} }) ## { showProxy: true }
new Proxy(new Proxy({}, {}), { a: 1 }) ## { showProxy: true }
({ a: { b: { c: new Proxy({}, {}) } } }) ## { showProxy: true, depth: 1 }
({ p: new Proxy({ a: { b: 1 } }, {}) }) ## { showProxy: 1, depth: 0 }
({ a: { b: { c: new Proxy({}, {}) } } }) ## { showProxy: true }
(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })()
(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return [proxy]; })() ## { showProxy: true }
function f() {}
(function () {})
() => {}
(a, b) => a
function* g() {}
async function af() {}
async function* ag() {}
async () => {}
(function* () {})
({ m() {} }).m
({ async m() {} }).m
({ *m() {} }).m
({ async *m() {} }).m
({ m() {}, f: function () {}, a: () => {} })
Object.getOwnPropertyDescriptor({ get x() { return 1; } }, "x").get
Math.max
Array.prototype.push
(() => {}).bind(null)
function named() {}.bind(null)
new Function("a", "return a")
Object.assign(function f() {}, { a: 1 })
Object.assign(() => {}, { a: 1, b: { c: 1 } })
Object.setPrototypeOf(function f() {}, null)
Object.setPrototypeOf(() => {}, null)
Object.setPrototypeOf(function f() {}, class X { }.prototype)
Object.defineProperty(() => {}, "name", { value: "custom name" })
Object.defineProperty(function () {}, "name", { value: 5 })
Object.defineProperty(() => {}, Symbol.toStringTag, { value: "T" })
(() => { "use strict"; return function f() {}; })() ## { showHidden: true }
(a, b) => a ## { showHidden: true }
class A {}
class B extends Array {}
(class {})
(class extends Array {})
(class extends null {})
(class extends (class X {}) {})
class S { static x = 1; static m() {} static #p = 1 }
class S { static name = "other" }
class S { static [Symbol.toStringTag] = "Tag" }
Object.setPrototypeOf(class X {}, null)
class /* c */ C {}
class M { constructor(a = "{") {} }
class A { a() {} get b() { return 1; } } ## { showHidden: true }
class E2 extends Error {}
Object.setPrototypeOf(class N {}, Object.create(Function.prototype))
({ classical: function classy() {} }).classical
function class_() {}
({ "class"() { return 1; } }).class
({ "class x"() { return 1; } })["class x"]
({ A: class A {}, B: class B extends Map {} })
new (class Foo {})()
new (class Foo { a = 1 })()
new (class Foo { #p = 1; q = 2 })()
new (class {})()
new (class { a = 1 })()
new (class Foo extends (class Bar { }) { })()
new (class extends (class Bar { }) { })()
new (class Foo { get [Symbol.toStringTag]() { return "Tag"; } })()
new (class Foo { get [Symbol.toStringTag]() { return "Foo"; } })()
new (class Foo { get [Symbol.toStringTag]() { return "Tag"; } x = 1 })()
new (class Foo { [Symbol.toStringTag] = "Tag" })()
({ [Symbol.toStringTag]: "Tag" })
({ [Symbol.toStringTag]: "" })
({ [Symbol.toStringTag]: 5 })
Object.defineProperty({}, Symbol.toStringTag, { value: "Tag" })
Object.defineProperty({ a: 1 }, Symbol.toStringTag, { value: "Tag" })
Object.defineProperty({ a: 1 }, Symbol.toStringTag, { value: "Tag" }) ## { showHidden: true }
Object.defineProperty(Object.create(null), Symbol.toStringTag, { value: "Tag" })
Object.create({ get [Symbol.toStringTag]() { throw new Error("t"); } }, {}) && 1
Object.create(null)
Object.assign(Object.create(null), { a: 1, b: { c: 1 } })
({ a: Object.create(null), b: Object.assign(Object.create(null), { c: 1 }) })
Object.create({})
Object.create({ constructor: 5 })
Object.create({ constructor: class Foo {} })
Object.create(Object.create(null))
Object.create(Object.create(null), { a: { value: 1, enumerable: true } })
Object.create(Object.create(Object.create(null)))
Object.create(Array.prototype)
Object.create(Map.prototype)
Object.create(Date.prototype)
Object.create(RegExp.prototype)
Object.create(Error.prototype)
Object.create(Promise.prototype)
Object.create(Function.prototype)
Object.create(class Foo {}.prototype)
class Foo {}.prototype
class Foo extends Map {}.prototype
class Foo { get a() { return 1; } m() {} }.prototype ## { showHidden: true }
function F() {}.prototype
Object.prototype
Array.prototype
Map.prototype
Set.prototype
Date.prototype
RegExp.prototype
Promise.prototype
Error.prototype
TypeError.prototype
Symbol.prototype
Number.prototype
String.prototype
Boolean.prototype
BigInt.prototype
Function.prototype
ArrayBuffer.prototype
Uint8Array.prototype
DataView.prototype
WeakMap.prototype
(function* () {}).prototype
Object.getPrototypeOf(function* () {})
Object.getPrototypeOf(async function () {})
Object.getPrototypeOf([][Symbol.iterator]())
new (class A { x = 1; get y() { return 1; } m() {} })() ## { showHidden: true }
new (class B extends (class A { x = 1; get y() { return 1; } m() {} }) { get z() { return 1; } })() ## { showHidden: true }
new (class B extends (class A { get y() { return 1; } }) { get z() { return 1; } })() ## { showHidden: true, colors: true }
new (class B extends (class A { get y() { return 1; } }) { get z() { return 1; } })() ## { showHidden: true, getters: true }
new (class B extends Map { get z() { return 1; } })() ## { showHidden: true }
new (class B extends Array { get z() { return 1; } })(1, 2) ## { showHidden: true }
[new (class A { get y() { return 1; } })()] ## { showHidden: true, depth: 0 }
new Number(3)
new Number(-0)
new String("abc")
new String("it's")
new String("")
new Boolean(false)
Object(Symbol("a"))
Object(10n)
Object.assign(new String("ab"), { x: 1 })
Object.assign(new Number(3), { x: 1 })
new (class N extends Number {})(3)
new (class S extends String {})("x")
Object.setPrototypeOf(new Number(1), null)
Object.defineProperty(new Number(1), Symbol.toStringTag, { value: "T" })
new String("abc") ## { showHidden: true }
[new Number(1), new String("a")]
new Number(3) ## { colors: true }
new String("x") ## { colors: true }
Object.assign(new String("x"), { a: 1 }) ## { colors: true }
new Date(0)
new Date(NaN)
new Date(8.64e15)
new Date("2020-02-30T12:34:56.789Z")
Object.assign(new Date(0), { x: 1 })
new (class D extends Date {})(0)
Object.setPrototypeOf(new Date(0), null)
Object.defineProperty(new Date(0), Symbol.toStringTag, { value: "T" })
[new Date(0)]
/abc/
/a\/b/gi
new RegExp("")
new RegExp("/")
Object.assign(/x/, { a: 1 })
new (class R extends RegExp {})("x", "g")
Object.setPrototypeOf(/x/g, null)
[/a/, /b/g]
(function () { return arguments; })()
(function () { return arguments; })(1, "a", {})
(function () { "use strict"; return arguments; })(1)
({ args: (function () { return arguments; })(1) })
(function* () {})()
(async function* () {})()
(function* gen() { yield 1; })()
[1, 2][Symbol.iterator]()
[1, 2].entries()
"ab"[Symbol.iterator]()
"ab".matchAll(/a/g)
Math
JSON
Reflect
Atomics
(() => { const o = {}; o.self = o; return o; })()
(() => { const o = { a: {} }; o.a.up = o; o.a.me = o.a; return o; })()
(() => { const o = { a: { b: {} } }; o.a.b.c = o.a; o.d = o.a.b; return o; })()
(() => { const a = []; a.push(a, [a]); return a; })()
(() => { const m = new Map(); m.set(m, { m }); return m; })()
(() => { const s = new Set(); s.add(s); return s; })()
(() => { const f = () => {}; f.f = f; return f; })()
(() => { class A { } A.a = A; return A; })()
(() => { const e = new Error("x"); e.e = e; return e; })()
(() => { const e = new Error("x"); e.cause = e; return e; })()
(() => { const d = new Date(0); d.d = d; return d; })()
(() => { const p = Promise.resolve(); p.p = p; return p; })()
(() => { const o = {}; o.a = o; o.b = { o }; o.c = [o.b]; return o; })()
(() => { const o = {}; o.a = o; o.b = { o }; o.c = [o.b]; return o; })() ## { compact: true }
(() => { const o = {}; o.a = o; o.b = { o }; o.c = [o.b]; return o; })() ## { compact: false }
(() => { const o = {}; o.a = o; o.b = { o }; o.c = [o.b]; return o; })() ## { colors: true }
(() => { const x = { n: 1 }; return { a: x, b: x }; })()
(() => { const o = { list: [] }; o.list.push(o.list, o); return [o, o]; })()
new Error("x")
new Error("")
new Error()
new TypeError("bad")
new Error("two\nlines")
new Error("x", { cause: "y" })
new Error("x", { cause: undefined })
new Error("x", { cause: null })
new Error("x", { cause: { code: 1, list: [1, 2] } })
new Error("x", { cause: new TypeError("y") })
new Error("x", { cause: new TypeError("y", { cause: new RangeError("z") }) })
new Error("x", { cause: new TypeError("y", { cause: new RangeError("z", { cause: new Error("w") }) }) })
new AggregateError([], "agg")
new AggregateError([1, "two"], "agg")
new AggregateError([new Error("a"), new TypeError("b")], "agg")
new AggregateError([new Error("a")])
Object.assign(new Error("x"), { code: "E_CODE" })
Object.assign(new Error("x"), { code: "E_CODE", errno: -2, nested: { a: { b: { c: 1 } } } })
Object.assign(new Error("x", { cause: 1 }), { code: "E_CODE" })
Object.assign(new Error("x"), { name: "Custom" })
Object.assign(new Error("x"), { name: "CustomError" })
Object.assign(new Error("x"), { name: "TypeError" })
Object.assign(new Error("x"), { message: "later" })
Object.assign(new Error("x"), { name: undefined })
Object.assign(new Error("x"), { name: null })
Object.assign(new Error("x"), { name: 5 })
Object.assign(new Error("x"), { cause: 1 })
Object.assign(new Error("x"), { errors: [1] })
Object.assign(new Error("x"), { errors: 1 })
Object.assign(new Error("x"), { stack: "only text" })
Object.assign(new Error("x"), { stack: "" })
Object.assign(new Error("x"), { stack: undefined })
Object.assign(new Error("x"), { stack: "Error: x\n    at here (file.js:1:2)" })
Object.assign(new Error("x"), { stack: "Error: x\n    at here (file.js:1:2)", code: 5 })
Object.assign(new TypeError("x"), { stack: "TypeError: x\n    at a (f.js:1:2)\n    at b (f.js:3:4)" })
({ e: Object.assign(new TypeError("x"), { stack: "TypeError: x\n    at a (f.js:1:2)\n    at b (f.js:3:4)" }) })
[[Object.assign(new TypeError("x"), { stack: "TypeError: x\n    at a (f.js:1:2)\n    at b (f.js:3:4)", k: { l: 1 } })]]
Object.assign(new Error("x"), { stack: "Error: x\n    at a (f.js:1:2)\n    at node:internal/modules/cjs/loader:1:1", k: 1 }) ## { colors: true }
Object.assign(new Error("x"), { stack: "Error: x\n    at a (/p/node_modules/pkg/f.js:1:2)\n    at b (/p/node_modules/@s/pkg/f.js:1:2)" }) ## { colors: true }
Object.assign(new Error("x"), { stack: "Error: x\n    at f (" + process.cwd() + "/f.js:1:2)\n    at " + process.cwd() + "/g.js:1:2\n    at file://" + process.cwd() + "/h.js:1:2" }) ## { colors: true }
Object.assign(new Error("x", { cause: Object.assign(new Error("c"), { stack: "Error: c\n    at z (f.js:0:0)\n    at a (f.js:1:2)\n    at b (f.js:1:2)\n    at c (f.js:1:2)\n    at d (f.js:1:2)" }) }), { stack: "Error: x\n    at y (f.js:0:0)\n    at a (f.js:1:2)\n    at b (f.js:1:2)\n    at c (f.js:1:2)\n    at d (f.js:1:2)" })
Object.assign(new Error("x", { cause: Object.assign(new Error("c"), { stack: "Error: c\n    at a (f.js:1:2)\n    at b (f.js:1:2)\n    at c (f.js:1:2)" }) }), { stack: "Error: x\n    at a (f.js:1:2)\n    at b (f.js:1:2)\n    at c (f.js:1:2)" })
Object.assign(new Error("x", { cause: Object.assign(new Error("c"), { stack: "Error: c\n    at a (f.js:1:2)\n    at b (f.js:1:2)\n    at c (f.js:1:2)\n    at d (f.js:1:2)" }) }), { stack: "Error: x\n    at a (f.js:1:2)\n    at b (f.js:1:2)\n    at c (f.js:1:2)\n    at d (f.js:1:2)" }) ## { colors: true }
(() => { const e = new Error("x"); e.stack = undefined; return { e, list: [e] }; })()
(() => { const e = new Error("x"); e.stack = undefined; e.code = 1; return { e }; })()
new (class MyError extends Error {})("m")
new (class Foo extends Error {})("m")
new (class MyError extends Error { constructor(m) { super(m); this.name = "MyError"; } })("m")
new (class MyError extends Error { constructor(m) { super(m); this.name = "Other"; } })("m")
new (class MyError extends TypeError { name = "MyError"; code = 5 })("m")
new (class MyError extends Error { get name() { return "Got"; } })("m")
new (class MyError extends TypeError { })("")
new (class extends Error {})("m")
Object.setPrototypeOf(new Error("x"), null)
Object.setPrototypeOf(new RangeError("x"), null)
Object.setPrototypeOf(new Error("x"), Object.prototype)
Object.setPrototypeOf(new Error("x"), Object.create(null))
Object.setPrototypeOf(new Error("x"), class Thing {}.prototype)
Object.defineProperty(new Error("x"), Symbol.toStringTag, { value: "T" })
Object.defineProperty(new Error("x"), "name", { value: "Hidden", enumerable: false })
Object.create(new Error("parent"))
new Error("x") instanceof Error
({ e: new Error("x") })
({ a: { b: { e: new Error("x") } } })
({ a: { b: { c: { e: new Error("x") } } } })
[new Error("a"), new TypeError("b")]
new Map([["e", new Error("x")]])
new Error("x", { cause: new Error("y") }) ## { depth: 0 }
({ e: new Error("x", { cause: new Error("y") }) }) ## { depth: 0 }
Object.assign(new Error("x"), { toString() { return "custom"; } })
(() => { const e = new SyntaxError("s"); e.stack = "SyntaxError: s"; return e; })()
(() => { const e = new Error("the message"); e.stack = "Error: other\n    at x (y:1:1)"; return e; })()
(() => { const e = new Error("m\n    at not a frame"); e.stack = "Error: m\n    at not a frame\n    at x (y:1:1)"; return e; })()
({ [Symbol.for("nodejs.util.inspect.custom")]() { return "custom text"; } })
({ [Symbol.for("nodejs.util.inspect.custom")]() { return 42; } })
({ [Symbol.for("nodejs.util.inspect.custom")]() { return null; } })
({ [Symbol.for("nodejs.util.inspect.custom")]() { return undefined; } })
({ [Symbol.for("nodejs.util.inspect.custom")]() { return { a: 1, b: [1] }; } })
({ [Symbol.for("nodejs.util.inspect.custom")]() { return this; }, a: 1 })
({ x: { [Symbol.for("nodejs.util.inspect.custom")]() { return "two\nlines"; } } })
({ x: { [Symbol.for("nodejs.util.inspect.custom")]() { return { long: "x".repeat(50), other: "y".repeat(50) }; } } })
({ [Symbol.for("nodejs.util.inspect.custom")](depth, options) { return depth + " " + Object.keys(options).join(); } })
({ a: { [Symbol.for("nodejs.util.inspect.custom")](depth, options) { return depth + " " + options.depth + options.extra; } } }) ## { extra: "E" }
({ [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) { return inspect({ a: { b: { c: {} } } }, { ...options, depth: depth - 2 }); } })
({ [Symbol.for("nodejs.util.inspect.custom")](depth, options) { return options.stylize("styled", "number"); } }) ## { colors: true }
({ [Symbol.for("nodejs.util.inspect.custom")]() { return "x"; }, a: 1 }) ## { customInspect: false }
({ [Symbol.for("nodejs.util.inspect.custom")]: 5 })
new (class Foo { [Symbol.for("nodejs.util.inspect.custom")]() { return "inst"; } })()
class Foo { [Symbol.for("nodejs.util.inspect.custom")]() { return "inst"; } }.prototype
class Foo { static [Symbol.for("nodejs.util.inspect.custom")]() { return "static"; } }
new Proxy({ [Symbol.for("nodejs.util.inspect.custom")]() { return "through"; } }, {})
({ inspect() { return "old"; } })
({ toString() { return "no"; }, valueOf() { return 1; }, toJSON() { return 2; } })
({ b: 2, a: 1, c: { z: 1, y: 2 } }) ## { sorted: true }
({ b: 2, a: 1, c: 3 }) ## { sorted: (a, b) => (a < b ? 1 : -1) }
Object.assign([3, 1, 2], { z: 1, y: 2 }) ## { sorted: true }
Object.assign(["b", "a"], { z: 1, y: 2, x: 3 }) ## { sorted: (a, b) => (a < b ? 1 : -1) }
1234567 ## { numericSeparator: true }
-1234567.891234 ## { numericSeparator: true }
123 ## { numericSeparator: true }
0.1234567 ## { numericSeparator: true }
-0.5 ## { numericSeparator: true }
-0 ## { numericSeparator: true }
1e21 ## { numericSeparator: true }
1.5e-10 ## { numericSeparator: true }
[NaN, Infinity, 1000] ## { numericSeparator: true }
-1234567890123n ## { numericSeparator: true }
({ a: 1, b: "s", c: null, d: undefined, e: true, f: 1n, g: Symbol("s"), h: new Date(0), i: /r/ }) ## { colors: true }
({ f() {}, c: class X {}, [Symbol("k")]: 1, "quoted key": 1, n: { m: { o: { p: 1 } } } }) ## { colors: true }
[1, , "x", [[[[]]]], [[[[1]]]]] ## { colors: true }
new Map([["a", 1]]) ## { colors: true }
Promise.resolve(1) ## { colors: true }
new Promise(() => {}) ## { colors: true }
({ get a() { return 1; }, set b(v) {}, get c() { return 1; }, set c(v) {} }) ## { colors: true }
({ get a() { return 1; }, get b() { return null; } }) ## { colors: true, getters: true }
"text" ## { colors: true }
"a".repeat(60) + "\n" + "b".repeat(60) ## { colors: true }
Object.defineProperty({}, "h", { value: 1 }) ## { colors: true, showHidden: true }
({ ["__proto__"]: 1 }) ## { colors: true }
new ArrayBuffer(2) ## { colors: true }
new Uint8Array(9) ## { colors: true }
(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })() ## { colors: true }
Object.assign(new Error("x"), { stack: "", code: 1 }) ## { colors: true }
new WeakMap() ## { colors: true }
({ depth: { of: { objects: { with: { colors: 1 } } } } }) ## { colors: true, depth: 0 }
({ a: 1 }) ## true
({ a: 1 }) ## undefined
({ a: 1 }) ## null
Object.freeze({ a: 1 })
Object.seal([1])
({ a: 1, toString: null, constructor: null })
({ constructor: "x" })
({ constructor: { name: "Fake" } })
({ hasOwnProperty: 1 })
new (class Foo { constructor() { this.constructor = 5; } })()
(() => { function Old() { this.a = 1; } return new Old(); })()
(() => { function Old() { this.a = 1; } Old.prototype = { b: 1 }; return new Old(); })()
(() => { function Old() {} function Sub() {} Sub.prototype = Object.create(Old.prototype); return new Sub(); })()
(() => { class A {} Object.defineProperty(A, "name", { value: "Renamed" }); return new A(); })()
(() => { class A {} Object.defineProperty(A, "name", { value: "" }); return new A(); })()
(() => { class A { static [Symbol.hasInstance]() { return false; } } return new A(); })()
(() => { class A { static [Symbol.hasInstance]() { throw new Error("no"); } } return new A(); })()
Object.entries({ a: 1, b: { c: 2 } })
Object.getOwnPropertyDescriptors({ a: 1, get b() { return 1; } })
[{ name: "alice", age: 30, tags: ["a", "b"] }, { name: "bob", age: 25, tags: [] }]
({ id: 1, items: [{ sku: "abc", qty: 2, price: 9.99 }, { sku: "def", qty: 1, price: 19.99 }], total: 39.97 })
({ a: 1, b: { c: 2, d: { e: 3, f: { g: 4 } } }, h: [1, [2, [3, [4]]]], i: new Map([["x", { y: { z: { w: 1 } } }]]) })
JSON.parse('{"users":[{"id":1,"name":"A","roles":["x","y"],"meta":{"a":{"b":{"c":1}}}}],"count":1}')
"a,b,c".split(",")
/(?<year>\d{4})-(?<m>\d\d)/.exec("on 2020-12")
"x1y2".match(/\d/g)
"abc".match(/b/)
Array.from("hello world")
Object.groupBy ? "has" : "has"
[..."aab"].reduce((m, c) => m.set(c, (m.get(c) ?? 0) + 1), new Map())
new Array(3)
[undefined, , null]
[function a() {}, class B {}, Symbol("c"), 1n, /d/, new Date(0)]
({ a: [], b: {}, c: new Map(), d: new Set(), e: "", f: () => {} })
({ a: [[]], b: [{}], c: { d: [] }, e: { f: {} } })
({ "long property name that goes on": "and a long value too", "another long property": "x" })
({ text: "x".repeat(76) })
({ text: "x".repeat(66) })
({ text: "x".repeat(60), n: 1 })
({ text: "x".repeat(56), n: 1 })
["x".repeat(72)]
["x".repeat(70)]
["x".repeat(30), "y".repeat(36)]
["x".repeat(30), "y".repeat(34)]
[["x".repeat(30)], ["y".repeat(30)]]
({ a: { b: { c: ["x".repeat(30), "y".repeat(20)] } } })
({ a: { b: { c: ["x".repeat(30), "y".repeat(24)] } } })
({ a: { b: 1, c: { d: 2 } }, e: { f: { g: 3 } } })
({ a: { b: 1, c: { d: { h: 2 } } }, e: { f: { g: { i: 3 } } } }) ## { depth: 9 }
(() => { let o = {}; for (let i = 0; i < 20; i++) o = { o }; return o; })() ## { depth: 30 }
globalThis.nothing
[-0, 0, +0]
[1e3, 1e20, 1e21, 1.0, 0x10]
`;

module.exports = lines
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => line.split(" ## "));

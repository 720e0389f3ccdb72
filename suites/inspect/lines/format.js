"use strict";

// The arguments of one call of `format` a line.
const lines = String.raw`

"a"
"%s"
"%%"
"%"
1, 2, "3"
"a", "b", { c: "d" }, "e\nf"
{ a: "x" }, "%s", 1
"", 1
null, undefined, true
-0, 0, 1n, Symbol("a")
"%s", "text"
"%s", 1
"%s", -0
"%s", 5n
"%s", null
"%s", undefined
"%s", true
"%s", Symbol("a")
"%s", {}
"%s", { a: { b: { c: 1 } } }
"%s", [1, [2, [3]]]
"%s", []
"%s", () => 1
"%s", class Q {}
"%s", function f() {}
"%s", new Map([[1, { a: 1 }]])
"%s", new Date(0)
"%s", /x/g
"%s", Object.create(null)
"%s", { toString() { return "own"; } }
"%s", { toString: 5 }
"%s", { toString: null }
"%s", new (class A { toString() { return "A!"; } })()
"%s", new (class B extends (class A { toString() { return "A!"; } }) {})()
"%s", new (class A { a = 1 })()
"%s", new (class A extends Map { toString() { return "map"; } })()
"%s", new (class A extends Date {})(0)
"%s", Object.create({ toString() { return "inherited"; } })
"%s", { [Symbol.toPrimitive]() { return "primitive"; } }
"%s", new (class A { [Symbol.toPrimitive]() { return "primitive"; } })()
"%s", new Number(5)
"%s", new String("x")
"%s", Object(1n)
"%s", new Proxy({}, {})
"%s", new Proxy({ toString() { return "own"; } }, {})
"%s", Object.assign(() => {}, { toString: () => "fn" })
"%s", { get toString() { return () => "got"; } }
"%s", "x".repeat(200)
"%s", Array.from({ length: 120 }, (_, i) => i)
"%d", 1
"%d", "42"
"%d", "abc"
"%d", 1.5
"%d", -0
"%d", 5n
"%d", Symbol("a")
"%d", {}
"%d", [5]
"%d", null
"%d", undefined
"%d", { valueOf() { return 5; } }
"%d", 12345678901234567890
"%d", new Date(5)
"%i", "42.7"
"%i", 42.7
"%i", -0.5
"%i", 5n
"%i", {}
"%i", Symbol("a")
"%i", null
"%i", 1e21
"%f", "1.5x"
"%f", 1
"%f", Symbol("a")
"%f", 5n
"%f", null
"%j", { a: [1, "x"] }
"%j", "s"
"%j", undefined
"%j", () => {}
"%j", { toJSON() { return "J"; } }
"%j", (() => { const o = {}; o.o = o; return o; })()
"%j", (() => { const o = { a: [] }; o.a.push({ o }); return o; })()
"%o", { a: 1 }
"%o", { a: [1, { b: { c: { d: { e: 1 } } } }], f() {} }
"%o", [1, 2]
"%o", 5
"%o", "s"
"%o", new Proxy({ a: 1 }, {})
"%O", { a: { b: { c: { d: 1 } } } }
"%O", "s"
"%O", [1, 2, 3]
"%c%s", "color: red", "x"
"%c"
"%% %s %%", 1
"%s %s", 1
"%s %d %i %f %j %o %O", 1, 2, 3, 4, 5, 6, 7
"%s", 1, 2, "x", { a: 1 }
"%x", 1
"a%", 1
"%s%", 1
"%%s", 1
"%%%s", 1
"%%%%s", 1
"%S", 1
"%d%%", 50
"100%", "x"
"%s:%s", undefined
"%s", "a\nb"
"a\nb", { c: "d\ne" }
"%s", new (class Foo extends Error {})("m").message
new Error("e").message, [new Date(0)]
{}, {}
[], {}, ""
"%o", new Map([[1, 2]])
"%o", new Date(0)
"%O", new Set([1])
"text", ["a".repeat(40), "b".repeat(40)], { c: 1 }
"\x1b[31m%s\x1b[0m", "red"
`;

module.exports = lines.split("\n").slice(1, -1);

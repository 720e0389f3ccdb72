"use strict";

// The message of a failed `assert(value)` quotes the call.
const assert = require("node:assert");
const { ok, strict } = assert;

function t(call) {
  try {
    call();
    console.log("passes");
  } catch (error) {
    console.log(JSON.stringify(error.message), error.generatedMessage);
  }
}

t(() => assert(false));
t(() => assert.ok(0));
t(() => ok(null, undefined));
t(() => assert.ok(typeof 123 === "string"));
t(() => assert(  1 > 2  ));
t(() => { assert.ok(
  false &&
    true); });
t(() => {
      assert(
        (() => 0)(),
        undefined
      );
});
t(() => assert.strict(0));
t(() => strict.ok(""));
t(() => assert.strict.ok(NaN));
t(() => assert.ok(")" === "("));
t(() => assert.ok(`)${1}` === "("));
t(() => assert.ok(/\)/.test("(")));
t(() => assert["ok"](0));
t(() => assert.ok.call(null, 0));
t(() => [0].forEach((x) => assert.ok(x)));
t(() => { const a = 1; if (a) assert.ok(a === 2, null); });
t(() => assert.equal(assert.ok(0), 1));
t(() => assert(0, ""));
t(() => assert.ok(0, undefined));
const wrap = (x) => assert(x);
t(() => wrap(0));
t(() => assert /* c */ (0));
t(() => { assert(0) /* trailing */ });
t(() => { assert(0); assert(1); });
t(() => eval("assert(0)"));
t(() => new Function("assert", "assert.ok(0)")(assert));
t(() => assert.ok((x) => 5, ...[0]));
t(() => assert(!1 /* comment ) */ ));
t(() => assert(0 // comment
));
t(() => assert.ok(null === undefined, `
`.trim() || undefined));

import assert from "node:assert";
import strict from "node:assert/strict";
import { Console, log } from "node:console";
import util from "node:util";
import * as self from "./modules.mjs";

console.log(self);
export let x = 1;
export const y = { a: { b: { c: {} } } };
export default function f() {}
export class K {}
export { x as "a name" };
console.log(self, [self]);
console.log(util.inspect(self, { depth: -1 }), util.inspect({ self }, { depth: 0 }));
console.log(util.inspect(self, { showHidden: true }));
console.log(strict === assert.strict, typeof Console, typeof log);
try {
  assert.ok(x === 2);
} catch (error) {
  console.log(error.message);
}

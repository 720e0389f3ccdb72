"use strict";

const { builtinNames, formatProperty } = require("internal/inspect");

// Adds to the output what a value inherits from up to three prototypes, the first of them `object`. Those of
// the language are left out.
function addInherited(ctx, value, object, level, output) {
  const seen = new Set(Reflect.ownKeys(value));
  for (let steps = 0; steps < 3 && object !== null; steps++, object = Object.getPrototypeOf(object)) {
    const constructor = Object.getOwnPropertyDescriptor(object, "constructor")?.value;
    if (typeof constructor === "function" && builtinNames.has(constructor.name)) return;
    ctx.seen.add(value);
    for (const key of Reflect.ownKeys(object)) {
      if (key === "constructor" || seen.has(key)) continue;
      const property = Object.getOwnPropertyDescriptor(object, key);
      if (typeof property.value === "function") continue;
      seen.add(key);
      const text = formatProperty(ctx, value, key, level, false, property);
      output.push(ctx.colors ? `\u001b[2m${text}\u001b[22m` : text);
    }
    ctx.seen.delete(value);
  }
}

module.exports = { addInherited };

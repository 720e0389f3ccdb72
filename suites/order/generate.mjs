// Writes scripts to the standard output:
//   generate.mjs SEED                    one script
//   generate.mjs FIRST COUNT             several, each after a line `//// NAME`
//   generate.mjs portable FIRST COUNT    the names of those that need no more than an engine and the loop
// $SLOT_MS is how far timers are apart. The output does not depend on it, if the machine is fast enough.
// The name of a script says the seed, the theme and the kind of module.

import { Script } from "./lib/script.mjs";
import { THEMES } from "./lib/themes.mjs";

const NAMES = Object.keys(THEMES);

// Which script a seed gives. Portable scripts have no modules; of the others, every third is one.
function describe(seed) {
  const name = NAMES[seed % NAMES.length];
  const theme = THEMES[name];
  const esm = !theme.portable && Math.floor(seed / NAMES.length) % 3 === 2;
  return { theme, esm, file: `${String(seed).padStart(4, "0")}-${name}.${esm ? "mjs" : "cjs"}` };
}

function generate(seed) {
  const { theme, esm } = describe(seed);
  return new Script(seed, theme, { esm, slotMs: Number(process.env.SLOT_MS ?? 40) }).write();
}

const [first, ...more] = process.argv.slice(2);

if (first === "portable") {
  for (let seed = Number(more[0]); seed < Number(more[0]) + Number(more[1]); seed += 1) {
    const { theme, file } = describe(seed);
    if (theme.portable) {
      process.stdout.write(`${file}\n`);
    }
  }
} else if (more.length === 0) {
  process.stdout.write(generate(Number(first)));
} else {
  for (let seed = Number(first); seed < Number(first) + Number(more[0]); seed += 1) {
    process.stdout.write(`//// ${describe(seed).file}\n${generate(seed)}`);
  }
}

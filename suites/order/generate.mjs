// Writes scripts to the standard output:
//   generate.mjs SEED           one script
//   generate.mjs FIRST COUNT    several, each after a line `//// NAME`
//   generate.mjs --names FIRST COUNT [--portable]    their names
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
  return new Script(seed, theme, esm).write();
}

const flags = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const [first, count] = process.argv.slice(2).filter((argument) => !argument.startsWith("--")).map(Number);

if (count === undefined) {
  process.stdout.write(generate(first));
} else {
  for (let seed = first; seed < first + count; seed += 1) {
    const { theme, file } = describe(seed);
    if (!flags.includes("--names")) {
      process.stdout.write(`//// ${file}\n${generate(seed)}`);
    } else if (theme.portable || !flags.includes("--portable")) {
      process.stdout.write(`${file}\n`);
    }
  }
}

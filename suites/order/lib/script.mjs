import { Random } from "./random.mjs";
import { NOWHERE, Schedule } from "./schedule.mjs";

const DEPTH = 4;

export const indent = (lines) => lines.map((line) => `  ${line}`);

// Puts `text` after the last of the lines.
export const append = (lines, text) => [...lines.slice(0, -1), lines.at(-1) + text];

// One script in the making. An action gets the script and the place where its code will run, and returns
// lines or, if it cannot be done there, undefined. A place (see schedule.mjs) also has `depth`, and `async`
// where `await` may stand; an action that awaits a timer changes the place of what follows.
export class Script {
  prelude = [];
  imports = new Map();
  // Names of what other actions may refer to: timers, immediates, promises …
  names = new Map();
  #theme;
  #budget;
  #labels = 0;

  constructor(seed, theme, { esm, slotMs }) {
    this.random = new Random(seed);
    this.schedule = new Schedule(this.random, slotMs);
    this.esm = esm;
    this.#theme = theme;
    this.#budget = this.random.between(8, 22);
  }

  // What the theme has switched on, for actions that can be done in several ways.
  has(feature) {
    return this.#theme.features.includes(feature);
  }

  import(name, module) {
    this.imports.set(name, module);
    return name;
  }

  label(kind) {
    this.#labels += 1;
    return kind + this.#labels;
  }

  log(kind) {
    return `log("${this.label(kind)}");`;
  }

  // A new name, which is remembered under `group`.
  name(group, data = {}) {
    const known = this.names.get(group) ?? [];
    const entry = { name: `${group}${known.length}`, ...data };
    this.names.set(group, [...known, entry]);
    return entry.name;
  }

  known(group) {
    const entries = this.names.get(group) ?? [];
    return entries.length === 0 ? undefined : this.random.pick(entries);
  }

  // The statements of a function body: a line of output, and a few actions.
  body(cx, kind, place) {
    const inner = { ...place, depth: cx.depth + 1, async: false };
    const lines = [this.log(kind)];
    for (let count = this.random.weighted([[4, 0], [4, 1], [2, 2]]); count > 0; count -= 1) {
      lines.push(...this.action(inner));
    }
    return lines;
  }

  // Whether a callback, which may, is to throw.
  throws(may) {
    return may && this.has("throws") && this.random.chance(45);
  }

  // `head() => { … }tail`
  callback(head, cx, kind, tail, { place = cx, params = "", throws = false } = {}) {
    const lines = this.body(cx, kind, place);
    if (throws) {
      lines.push(`throw new Error("${this.label("e")}");`);
    }
    return [`${head}(${params}) => {`, ...indent(lines), `}${tail}`];
  }

  // A callback that may be called at any time, and often.
  handler(head, kind, tail, params = "") {
    return this.callback(head, { depth: DEPTH - 1, async: false }, kind, tail, { place: NOWHERE, params });
  }

  action(cx) {
    if (this.#budget <= 0 || cx.depth > DEPTH) {
      return [];
    }
    this.#budget -= 1;
    // Some cannot be done here or now: they say so by returning nothing.
    for (let tries = 0; tries < 8; tries += 1) {
      const lines = this.random.weighted(this.#theme.actions)(this, cx);
      if (lines !== undefined) {
        return lines;
      }
    }
    return [this.log("s")];
  }

  write() {
    const cx = { ...this.schedule.start(), depth: 0, async: this.esm };
    const setup = this.#theme.setup(this, cx);
    const main = [this.log("s")];
    for (let count = this.random.between(4, 7); count > 0; count -= 1) {
      main.push(...this.action(cx));
    }
    main.push(this.log("s"), ...this.#theme.end(this, cx));
    return [...this.#heading(), ...this.prelude, ...setup, ...main].join("\n") + "\n";
  }

  #heading() {
    const modules = new Map();
    for (const [name, module] of this.imports) {
      modules.set(module, [...(modules.get(module) ?? []), name]);
    }
    const lines = [...modules].map(([module, names]) => this.#importLine(module, names));
    lines.push('const log = (...parts) => console.log(parts.join(":"));');
    const handles = [...(this.names.get("h") ?? []), ...(this.names.get("k") ?? [])];
    if (handles.length > 0) {
      lines.push(`let ${handles.map((entry) => entry.name).join(", ")};`);
    }
    return lines;
  }

  #importLine(module, names) {
    const list = names.join(", ");
    if (this.esm) {
      return `import { ${list.replace(/:/g, " as")} } from "${module}";`;
    }
    return `const { ${list} } = require("${module}");`;
  }
}

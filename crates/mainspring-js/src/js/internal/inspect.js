"use strict";

const { details } = host;
const { defaults, escape, formatBigInt, formatNumber, plural, quote } = require("internal/inspect_text");
const custom = Symbol.for("nodejs.util.inspect.custom");
const { getPrototypeOf, hasOwn, getOwnPropertyDescriptor, getOwnPropertyNames } = Object;

// Constructors of the language: their prototypes end a list of inherited properties.
const builtinNames = new Set(
  ("Object Function Array Number Boolean String Symbol Date Promise RegExp Error AggregateError EvalError " +
    "RangeError ReferenceError SyntaxError TypeError URIError ArrayBuffer SharedArrayBuffer DataView " +
    "Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array Float32Array Float64Array " +
    "Uint8ClampedArray BigUint64Array BigInt64Array Map Set WeakMap WeakSet WeakRef Proxy BigInt " +
    "FinalizationRegistry").split(" "),
);

// -- text --------------------------------------------------------------------------------------------

function visibleLength(ctx, text) {
  return ctx.colors ? text.replace(/\u001b\[\d\d?m/g, "").length : text.length;
}

function formatString(ctx, text, stylize) {
  let rest = "";
  if (text.length > ctx.maxStringLength) {
    rest = `... ${plural(text.length - ctx.maxStringLength, "more character")}`;
    text = text.slice(0, ctx.maxStringLength);
  }
  if (ctx.compact !== true && text.length > 16 && text.length > ctx.breakLength - ctx.indent - 4) {
    const lines = text.match(/[^\n]*\n|[^\n]+/g).map((line) => stylize(quote(line), "string"));
    return lines.join(` +\n${" ".repeat(ctx.indent + 2)}`) + rest;
  }
  return stylize(quote(text), "string") + rest;
}

function formatPrimitive(ctx, value, stylize) {
  switch (typeof value) {
    case "string":
      return formatString(ctx, value, stylize);
    case "number":
      return stylize(formatNumber(value, ctx.numericSeparator), "number");
    case "bigint":
      return stylize(formatBigInt(value, ctx.numericSeparator), "bigint");
    case "symbol":
      return stylize(value.toString(), "symbol");
    case "object":
      return stylize("null", "null");
    default:
      return stylize(String(value), typeof value);
  }
}

function plainStyle(text) {
  return text;
}

function colorStyle(text, style) {
  const color = inspect.colors[inspect.styles[style]];
  return color === undefined ? text : `\u001b[${color[0]}m${text}\u001b[${color[1]}m`;
}

// -- names -------------------------------------------------------------------------------------------

function isInstance(value, constructor) {
  try {
    return value instanceof constructor;
  } catch {
    return false;
  }
}

function isError(value) {
  return details(value)?.[0] === "Error" || isInstance(value, Error);
}

function internalName(value) {
  if (typeof value === "function") return "Function";
  if (Array.isArray(value)) return "Array";
  const [kind, name] = details(value) ?? ["Object"];
  if (kind === "TypedArray" || kind === "Boxed") return name;
  return kind === "Module" ? "Object" : kind;
}

// The name of the nearest constructor that the value is an instance of; null without any prototype.
// With `inherited`, the properties of the prototypes passed on the way are added to it.
function constructorName(ctx, value, level, inherited) {
  // Most objects are plain.
  if (getPrototypeOf(value) === Object.prototype && !hasOwn(value, "constructor")) return "Object";
  for (let object = value; object !== null; object = getPrototypeOf(object)) {
    const constructor = getOwnPropertyDescriptor(object, "constructor")?.value;
    if (typeof constructor !== "function") continue;
    const { name } = constructor;
    if (name === "" || !isInstance(value, constructor)) continue;
    if (inherited && (object !== getPrototypeOf(value) || !builtinNames.has(name))) {
      const first = object === value ? object : getPrototypeOf(value);
      require("internal/inspect_inherited").addInherited(ctx, value, first, level, inherited);
    }
    return String(name);
  }
  const prototype = getPrototypeOf(value);
  if (prototype === null) return null;
  const name = internalName(value);
  if (level > ctx.depth && ctx.depth !== null) return `${name} <Complex prototype>`;
  const parent = constructorName(ctx, prototype, level + 1, inherited);
  if (parent !== null) return `${name} <${parent}>`;
  const shown = inspect(prototype, { ...userOptions(ctx), customInspect: false, depth: -1 });
  return `${name} <${shown}>`;
}

// How the output begins: constructor, size and tag.
function prefix({ name, tag }, fallback, size = "") {
  const known = name === null ? `[${fallback}${size}: null prototype] ` : `${name}${size} `;
  return tag !== "" && tag !== (name ?? fallback) ? `${known}[${tag}] ` : known;
}

// -- contents ----------------------------------------------------------------------------------------

function limit(ctx, size) {
  return Math.min(Math.max(0, ctx.maxArrayLength), size);
}

function pushRest(output, rest) {
  if (rest > 0) output.push(`... ${plural(rest, "more item")}`);
  return output;
}

function indented(ctx, format) {
  ctx.indent += 2;
  const text = format();
  ctx.indent -= 2;
  return text;
}

function arrayItems(ctx, value, level) {
  const output = [];
  const { length } = value;
  const shown = limit(ctx, length);
  let index = 0;
  while (index < length && output.length < shown && hasOwn(value, index)) {
    output.push(formatProperty(ctx, value, index++, level, true));
  }
  if (index === length || output.length === shown) return pushRest(output, length - index);
  // From the first hole on, only the keys that exist are visited.
  const gap = (size) => output.push(ctx.stylize(`<${plural(size, "empty item")}>`, "undefined"));
  const keys = Object.keys(value);
  for (let at = index; at < keys.length && output.length < shown; at++) {
    const key = Number(keys[at]);
    if (!isIndex(keys[at])) break;
    if (key !== index) {
      gap(key - index);
      index = key;
      if (output.length === shown) break;
    }
    output.push(formatProperty(ctx, value, keys[at], level, true));
    index++;
  }
  if (output.length < shown && index < length) gap(length - index);
  else pushRest(output, length - index);
  return output;
}

function setItems(ctx, value, level) {
  const output = [];
  const size = setSize.call(value);
  const shown = limit(ctx, size);
  for (const item of Set.prototype.values.call(value)) {
    if (output.length === shown) break;
    output.push(indented(ctx, () => formatValue(ctx, item, level)));
  }
  return pushRest(output, size - shown);
}

function mapItems(ctx, value, level) {
  const output = [];
  const size = mapSize.call(value);
  const shown = limit(ctx, size);
  for (const [key, item] of Map.prototype.entries.call(value)) {
    if (output.length === shown) break;
    output.push(
      indented(ctx, () => `${formatValue(ctx, key, level)} => ${formatValue(ctx, item, level)}`),
    );
  }
  return pushRest(output, size - shown);
}

// -- kinds of objects --------------------------------------------------------------------------------

const getter = (prototype, name) => getOwnPropertyDescriptor(prototype, name).get;
const mapSize = getter(Map.prototype, "size");
const setSize = getter(Set.prototype, "size");

// Each kind fills in how its objects look, or returns all there is to show of one.
const kinds = {
  Array(ctx, value, info) {
    const head = info.name !== "Array" || info.tag !== "" ? prefix(info, "Array", `(${value.length})`) : "";
    asList(info, head, arrayItems);
    if (value.length === 0 && info.bare) return `${head}[]`;
  },
  Set(ctx, value, info) {
    const size = setSize.call(value);
    asSized(info, "Set", size, setItems);
    if (size === 0 && info.bare) return `${info.open}}`;
  },
  Map(ctx, value, info) {
    const size = mapSize.call(value);
    asSized(info, "Map", size, mapItems);
    if (size === 0 && info.bare) return `${info.open}}`;
  },
  Arguments(ctx, value, info) {
    info.open = "[Arguments] {";
    if (info.bare) return "[Arguments] {}";
  },
  Function(ctx, value, info) {
    info.base = require("internal/inspect_functions").functionBase(value, info);
    if (info.bare) return ctx.stylize(info.base, "special");
  },
  RegExp(ctx, value, info) {
    const regexp = info.name === null ? new RegExp(value) : value;
    return asText(ctx, info, "RegExp", RegExp.prototype.toString.call(regexp));
  },
  Date(ctx, value, info) {
    const time = Date.prototype.getTime.call(value);
    const text = Number.isNaN(time) ? "Invalid Date" : Date.prototype.toISOString.call(value);
    return asText(ctx, info, "Date", text);
  },
  Error(ctx, value, info) {
    info.base = require("internal/inspect_errors").errorBase(ctx, value, info);
    if (info.keys.length === 0 && info.inherited.length === 0) return info.base;
  },
  Object(ctx, value, info) {
    const { name, tag, bare } = info;
    if (bare && info.details?.[0] === "External") return ctx.stylize("[External]", "special");
    if (tag === "URL" && !info.tooDeep && typeof value.href === "string") {
      info.base = value.href;
      return bare ? info.base : undefined;
    }
    if (name !== "Object" || tag !== "") info.open = `${prefix(info, "Object")}{`;
    if (bare) return `${info.open}}`;
  },
};

const rareKinds = new Set(
  ("TypedArray ArrayBuffer SharedArrayBuffer DataView Promise WeakSet WeakMap MapIterator SetIterator " +
    "Module Boxed").split(" "),
);

function asList(info, head, items) {
  Object.assign(info, { open: `${head}[`, close: "]", isList: true, items });
}

function asSized(info, fallback, size, items) {
  info.open = `${prefix(info, fallback, `(${size})`)}{`;
  info.items = items;
}

function asText(ctx, info, type, text) {
  const head = prefix(info, type);
  info.base = head === `${type} ` ? text : head + text;
  if (!info.bare && !(info.tooDeep && type === "RegExp")) return undefined;
  return ctx.stylize(info.base, type.toLowerCase());
}

function isIndex(key) {
  return /^(0|[1-9]\d{0,9})$/.test(key) && key < 4294967295;
}

function ownKeys(value, showHidden, onlyNames) {
  let keys;
  if (showHidden) {
    keys = getOwnPropertyNames(value);
  } else {
    try {
      keys = Object.keys(value);
    } catch {
      // A namespace with bindings that are not initialized yet.
      keys = getOwnPropertyNames(value);
    }
  }
  if (onlyNames) {
    // Indices come first.
    let start = keys.length;
    while (start > 0 && !isIndex(keys[start - 1])) start--;
    keys = keys.slice(start);
  }
  for (const symbol of Object.getOwnPropertySymbols(value)) {
    if (showHidden || Object.prototype.propertyIsEnumerable.call(value, symbol)) keys.push(symbol);
  }
  return keys;
}

function kindOf(value, name, found) {
  const kind = Array.isArray(value) ? "Array" : found?.[0];
  if (/^(?:Array|TypedArray|(?:Map|Set)(?:Iterator)?)$/.test(kind)) {
    return name === null || Symbol.iterator in value ? kind : "Object";
  }
  if (typeof value === "function") return "Function";
  if (name === "Object") return kind === "Arguments" ? kind : "Object";
  if (rareKinds.has(kind) || (kind !== "Arguments" && hasOwn(kinds, kind))) return kind;
  return isInstance(value, Error) ? "Error" : "Object";
}

// -- values ------------------------------------------------------------------------------------------

function formatValue(ctx, value, level, inView) {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) {
    return formatPrimitive(ctx, value, ctx.stylize);
  }
  const original = value;
  let found = details(value);
  if (found?.[0] === "Proxy") {
    if (found[1] == null) return ctx.stylize("<Revoked Proxy>", "special");
    if (ctx.showProxy) return formatProxy(ctx, found, level);
    while (found?.[0] === "Proxy" && found[1] != null) {
      value = found[1];
      found = details(value);
    }
  }
  if (ctx.customInspect) {
    const method = value[custom];
    if (typeof method === "function" && method !== inspect && value.constructor?.prototype !== value) {
      const depth = ctx.depth === null ? null : ctx.depth - level;
      const result = method.call(original, depth, userOptions(ctx), inspect);
      if (result !== original) {
        if (result !== null && typeof result === "object") return formatValue(ctx, result, level);
        return `${result}`.replaceAll("\n", `\n${" ".repeat(ctx.indent)}`);
      }
    }
  }
  if (ctx.seen.has(value)) {
    ctx.circular ??= new Map();
    if (!ctx.circular.has(value)) ctx.circular.set(value, ctx.circular.size + 1);
    return ctx.stylize(`[Circular *${ctx.circular.get(value)}]`, "special");
  }
  return formatObject(ctx, value, level, found, inView);
}

function userOptions(ctx) {
  const options = { stylize: ctx.stylize };
  for (const key of Object.keys(defaults)) options[key] = ctx[key];
  return Object.assign(options, ctx.userOptions);
}

function formatProxy(ctx, [, target, handler], level) {
  if (level > ctx.depth && ctx.depth !== null) return ctx.stylize("Proxy [Array]", "special");
  ctx.current = level + 1;
  const output = indented(ctx, () => [target, handler].map((value) => formatValue(ctx, value, level + 1)));
  return layOut(ctx, output, { base: "", open: "Proxy [", close: "]", isList: true }, level + 1);
}

function tagOf(ctx, value) {
  const tag = value[Symbol.toStringTag];
  if (typeof tag !== "string") return "";
  // A property that is listed anyway is not repeated in front.
  const listed = getOwnPropertyDescriptor(value, Symbol.toStringTag);
  return listed !== undefined && (ctx.showHidden || listed.enumerable) ? "" : tag;
}

function formatObject(ctx, value, level, found, inView) {
  const tooDeep = level > ctx.depth && ctx.depth !== null;
  const inherited = [];
  const name = constructorName(ctx, value, level, ctx.showHidden && !tooDeep ? inherited : undefined);
  const kind = kindOf(value, name, found);
  const keys = ownKeys(value, ctx.showHidden, kind === "Array" || kind === "TypedArray");
  const info = {
    name,
    tag: tagOf(ctx, value),
    details: found,
    keys,
    inherited,
    bare: keys.length === 0 && inherited.length === 0,
    tooDeep,
    inView,
    base: "",
    open: "{",
    close: "}",
    isList: false,
    items: undefined,
  };
  const show = kinds[kind] ?? require("internal/inspect_kinds")[kind];
  const whole = show(ctx, value, info);
  if (whole !== undefined) return whole;
  if (tooDeep) {
    const known = prefix(info, internalName(value)).slice(0, -1);
    return ctx.stylize(name === null ? known : `[${known}]`, "special");
  }
  level += 1;
  ctx.seen.add(value);
  ctx.current = level;
  let output;
  const { indent } = ctx;
  try {
    output = info.items?.(ctx, value, level, info) ?? [];
    for (const key of info.keys) output.push(formatProperty(ctx, value, key, level, false));
    output.push(...inherited);
  } catch (error) {
    if (!isStackOverflow(error)) throw error;
    // What is below it was left behind.
    const open = [...ctx.seen];
    for (const below of open.slice(open.indexOf(value))) ctx.seen.delete(below);
    ctx.indent = indent;
    const known = prefix(info, "Object").slice(0, -1);
    const reason = "Inspection interrupted prematurely. Maximum call stack size exceeded.";
    return ctx.stylize(`[${known}: ${reason}]`, "special");
  }
  const reference = ctx.circular?.get(value);
  if (reference !== undefined) {
    const mark = ctx.stylize(`<ref *${reference}>`, "special");
    if (ctx.compact === true) info.open = `${mark} ${info.open}`;
    else info.base = info.base === "" ? mark : `${mark} ${info.base}`;
  }
  ctx.seen.delete(value);
  if (ctx.sorted) {
    const order = ctx.sorted === true ? undefined : ctx.sorted;
    const start = info.isList ? output.length - info.keys.length : 0;
    output = output.concat(output.splice(start).sort(order));
  }
  const text = layOut(ctx, output, info, level, value);
  // Output beyond all measure: what follows is cut short.
  ctx.budget[ctx.indent] = (ctx.budget[ctx.indent] ?? 0) + text.length;
  if (ctx.budget[ctx.indent] > 2 ** 27) ctx.depth = -1;
  return text;
}

function isStackOverflow(error) {
  return error instanceof Error && /call stack|stack overflow/i.test(error.message);
}

const identifier = /^[a-zA-Z_][a-zA-Z_0-9]*$/;

function formatKey(ctx, key, enumerable) {
  if (typeof key === "symbol") return `[${ctx.stylize(escape(key.toString()), "symbol")}]`;
  if (key === "__proto__") return "['__proto__']";
  if (!enumerable) return `[${escape(key)}]`;
  return identifier.test(key) ? ctx.stylize(key, "name") : ctx.stylize(quote(key), "string");
}

function formatProperty(ctx, value, key, level, isItem, property = getOwnPropertyDescriptor(value, key)) {
  const found = property ?? { value: value[key], enumerable: true };
  let space = " ";
  let text;
  if (found.value !== undefined) {
    const indent = ctx.compact === true && !isItem ? 3 : 2;
    ctx.indent += indent;
    text = formatValue(ctx, found.value, level);
    if (indent === 3 && ctx.breakLength < width(text)) space = `\n${" ".repeat(ctx.indent)}`;
    ctx.indent -= indent;
  } else if (found.get !== undefined) {
    text = formatGetter(ctx, value, found, level);
  } else if (found.set !== undefined) {
    text = ctx.stylize("[Setter]", "special");
  } else {
    text = ctx.stylize("undefined", "undefined");
  }
  return isItem ? text : `${formatKey(ctx, key, found.enumerable)}:${space}${text}`;
}

function formatGetter(ctx, value, { get, set }, level) {
  const label = set === undefined ? "Getter" : "Getter/Setter";
  const isWanted = ctx.getters === true || ctx.getters === (set === undefined ? "get" : "set");
  if (!isWanted) return ctx.stylize(`[${label}]`, "special");
  const around = (text) => `${ctx.stylize(`[${label}:`, "special")} ${text}${ctx.stylize("]", "special")}`;
  try {
    const result = get.call(value);
    return indented(ctx, () => {
      if (result !== null && (typeof result === "object" || typeof result === "function")) {
        return `${ctx.stylize(`[${label}]`, "special")} ${formatValue(ctx, result, level)}`;
      }
      return around(formatPrimitive(ctx, result, ctx.stylize));
    });
  } catch (error) {
    return around(`<Inspection threw (${error.message})>`);
  }
}

// -- layout ------------------------------------------------------------------------------------------

function width(text) {
  return require("internal/string_width").stringWidth(text);
}

function fits(ctx, output, start, base) {
  let total = output.length + start;
  if (total + output.length > ctx.breakLength) return false;
  for (const text of output) {
    total += visibleLength(ctx, text);
    if (total > ctx.breakLength) return false;
  }
  return !base.includes("\n");
}

function layOut(ctx, output, { base, open, close, isList }, level, value) {
  const lead = base === "" ? "" : `${base} `;
  const newline = `\n${" ".repeat(ctx.indent)}`;
  if (ctx.compact === true) {
    if (fits(ctx, output, 0, base)) return `${open}${base && ` ${base}`} ${output.join(", ")} ${close}`;
    const start = base === "" && open.length === 1 ? " " : `${base && ` ${base}`}${newline}  `;
    return `${open}${start}${output.join(`,${newline}  `)} ${close}`;
  }
  if (typeof ctx.compact === "number" && ctx.compact >= 1) {
    const entries = output.length;
    if (isList && entries > 6) output = require("internal/inspect_columns").inColumns(ctx, output, value);
    if (ctx.current - level < ctx.compact && entries === output.length) {
      const start = output.length + ctx.indent + open.length + base.length + 10;
      if (fits(ctx, output, start, base)) {
        const line = output.join(", ");
        if (!line.includes("\n")) return `${lead}${open} ${line} ${close}`;
      }
    }
  }
  return `${lead}${open}${newline}  ${output.join(`,${newline}  `)}${newline}${close}`;
}

// -- interface ---------------------------------------------------------------------------------------

function inspect(value, options) {
  const ctx = {
    ...defaults,
    stylize: plainStyle,
    userOptions: undefined,
    indent: 0,
    // How deep the value is that was formatted last, which decides what goes into one line.
    current: 0,
    budget: {},
    // The objects around the value.
    seen: new Set(),
    circular: undefined,
  };
  if (arguments.length > 2) {
    // The old form: showHidden, depth, colors.
    if (arguments[2] !== undefined) ctx.depth = arguments[2];
    if (arguments[3] !== undefined) ctx.colors = arguments[3];
  }
  if (typeof options === "boolean") ctx.showHidden = options;
  else if (options) {
    for (const key of Object.keys(options)) {
      if (hasOwn(defaults, key) || key === "stylize") ctx[key] = options[key];
      else ctx.userOptions ??= options;
    }
  }
  if (ctx.colors) ctx.stylize = colorStyle;
  ctx.maxArrayLength ??= Infinity;
  ctx.maxStringLength ??= Infinity;
  return formatValue(ctx, value, 0);
}

inspect.custom = custom;

Object.defineProperty(inspect, "defaultOptions", {
  get() {
    return defaults;
  },
  set(options) {
    require("internal/errors").validateObject(options, "options");
    Object.assign(defaults, options);
  },
});

// Tables that only colours need.
for (const name of ["colors", "styles"]) {
  const define = (value) => {
    Object.defineProperty(inspect, name, { value, writable: true, enumerable: true, configurable: true });
    return value;
  };
  const get = () => define(require("internal/inspect_colors")[name]);
  Object.defineProperty(inspect, name, { get, set: define, enumerable: true, configurable: true });
}

module.exports = {
  asList,
  builtinNames,
  formatKey,
  formatPrimitive,
  formatProperty,
  formatValue,
  indented,
  inspect,
  isError,
  limit,
  prefix,
  pushRest,
};

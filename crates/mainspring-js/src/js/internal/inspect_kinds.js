"use strict";

// How objects of the rarer kinds are shown: see `kinds` in internal/inspect.

const {
  asList, formatKey, formatPrimitive, formatProperty, formatValue, indented, limit, prefix, pushRest,
} = require("internal/inspect");
const { formatBigInt, formatNumber, plural } = require("internal/inspect_text");

const typedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);

function typedArrayItems(ctx, value, level, info) {
  const output = [];
  const { length } = info.accessors;
  const shown = limit(ctx, length);
  const format = typeof value[0] === "bigint" ? formatBigInt : formatNumber;
  const style = typeof value[0];
  for (let index = 0; index < shown; index++) {
    output.push(ctx.stylize(format(value[index], ctx.numericSeparator), style));
  }
  pushRest(output, length - shown);
  if (ctx.showHidden) {
    for (const key of ["BYTES_PER_ELEMENT", "length", "byteLength", "byteOffset", "buffer"]) {
      output.push(`[${key}]: ${indented(ctx, () => formatValue(ctx, info.accessors[key], level, true))}`);
    }
  }
  return output;
}

function promiseItems(ctx, value, level, info) {
  const [, state, result] = info.details;
  if (state === "pending") return [ctx.stylize("<pending>", "special")];
  const text = indented(ctx, () => formatValue(ctx, result, level));
  return [state === "rejected" ? `${ctx.stylize("<rejected>", "special")} ${text}` : text];
}

function unknownItems(ctx) {
  return [ctx.stylize("<items unknown>", "special")];
}

function bufferItems(ctx, value) {
  let bytes;
  try {
    bytes = new Uint8Array(value);
  } catch {
    return [ctx.stylize("(detached)", "special")];
  }
  const shown = limit(ctx, bytes.length);
  const hex = Array.from(bytes.subarray(0, shown), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  const rest = bytes.length > shown ? ` ... ${plural(bytes.length - shown, "more byte")}` : "";
  return [`${ctx.stylize("[Uint8Contents]", "special")}: <${hex}${rest}>`];
}

function namespaceItems(ctx, value, level, info) {
  const output = info.keys.map((key) => {
    try {
      return formatProperty(ctx, value, key, level, false);
    } catch (error) {
      if (!(error instanceof ReferenceError)) throw error;
      return `${formatKey(ctx, key, true)}: ${ctx.stylize("<uninitialized>", "special")}`;
    }
  });
  info.keys.length = 0;
  return output;
}

function arrayBuffer(ctx, value, info) {
  info.open = `${prefix(info, info.details[0])}{`;
  // A view shows the contents itself.
  if (info.inView && info.bare) {
    return `${info.open} byteLength: ${ctx.stylize(formatNumber(value.byteLength), "number")} }`;
  }
  info.keys.unshift("byteLength");
  if (!info.inView) info.items = bufferItems;
}

function iterator(type) {
  return (ctx, value, info) => {
    const own = `${type} Iterator`;
    info.open = `[${info.tag === "" || info.tag === own ? own : `${info.tag}] [${own}`}] {`;
    info.items = unknownItems;
  };
}

const rareKinds = {
  TypedArray(ctx, value, info) {
    const [, type] = info.details;
    info.accessors = { BYTES_PER_ELEMENT: globalThis[type].BYTES_PER_ELEMENT };
    for (const key of ["length", "byteLength", "byteOffset", "buffer"]) {
      info.accessors[key] = Object.getOwnPropertyDescriptor(typedArrayPrototype, key).get.call(value);
    }
    const { length } = info.accessors;
    const head = prefix(info, type, `(${length})`);
    asList(info, head, typedArrayItems);
    if (value.length === 0 && info.bare && !ctx.showHidden) return `${head}[]`;
  },
  ArrayBuffer: arrayBuffer,
  SharedArrayBuffer: arrayBuffer,
  DataView(ctx, value, info) {
    info.open = `${prefix(info, "DataView")}{`;
    info.keys.unshift("byteLength", "byteOffset", "buffer");
  },
  Promise(ctx, value, info) {
    info.open = `${prefix(info, "Promise")}{`;
    info.items = promiseItems;
  },
  WeakSet(ctx, value, info) {
    info.open = `${prefix(info, "WeakSet")}{`;
    info.items = unknownItems;
  },
  WeakMap(ctx, value, info) {
    info.open = `${prefix(info, "WeakMap")}{`;
    info.items = unknownItems;
  },
  MapIterator: iterator("Map"),
  SetIterator: iterator("Set"),
  Module(ctx, value, info) {
    info.open = `${prefix(info, "Module")}{`;
    info.items = namespaceItems;
  },
  Boxed(ctx, value, info) {
    const [, type] = info.details;
    const { name, tag, keys } = info;
    const primitive = globalThis[type].prototype.valueOf.call(value);
    if (type === "String") keys.splice(0, primitive.length);
    let text = `[${type}`;
    if (name !== type) text += name === null ? " (null prototype)" : ` (${name})`;
    text += `: ${formatPrimitive(ctx, primitive, (text) => text)}]`;
    if (tag !== "" && tag !== name) text += ` [${tag}]`;
    info.base = text;
    if (keys.length === 0 && info.inherited.length === 0) return ctx.stylize(text, type.toLowerCase());
  },
};

module.exports = rareKinds;

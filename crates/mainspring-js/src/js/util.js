"use strict";

const customPromisify = Symbol.for("nodejs.util.promisify.custom");

function env() {
  return require("internal/process").status.object?.env ?? host.env();
}

function promisify(original) {
  const { invalidArgType, validateFunction } = require("internal/errors");
  validateFunction(original, "original");
  const given = original[customPromisify];
  if (given) {
    if (typeof given !== "function") throw invalidArgType("util.promisify.custom", "function", given);
    return asCustom(given, given);
  }
  function promisified(...args) {
    return new Promise((resolve, reject) => {
      const done = (error, value) => (error ? reject(error) : resolve(value));
      Reflect.apply(original, this, [...args, done]);
    });
  }
  Object.setPrototypeOf(promisified, Object.getPrototypeOf(original));
  asCustom(promisified, promisified);
  return Object.defineProperties(promisified, Object.getOwnPropertyDescriptors(original));
}

function asCustom(target, value) {
  return Object.defineProperty(target, customPromisify, { value, configurable: true });
}

promisify.custom = customPromisify;

function callbackify(original) {
  const { codeError, invalidArgType, validateFunction } = require("internal/errors");
  const { nextTick } = require("internal/task_queues");
  validateFunction(original, "original");
  function callbackified(...args) {
    const callback = args.pop();
    if (typeof callback !== "function") throw invalidArgType("last argument", "function", callback);
    const call = callback.bind(this);
    const fail = (reason) => {
      // A reason that looks like no error would be taken for success.
      const message = `Promise was rejected with falsy value`;
      nextTick(call, reason || codeError(Error, "ERR_FALSY_VALUE_REJECTION", message, { reason }));
    };
    Reflect.apply(original, this, args).then((value) => nextTick(call, null, value), fail);
  }
  const descriptors = Object.getOwnPropertyDescriptors(original);
  if (typeof descriptors.length.value === "number") descriptors.length.value++;
  if (typeof descriptors.name.value === "string") descriptors.name.value += "Callbackified";
  return Object.defineProperties(callbackified, descriptors);
}

function inherits(constructor, parent) {
  const { invalidArgType } = require("internal/errors");
  if (constructor == null) throw invalidArgType("ctor", "Function", constructor);
  if (parent == null) throw invalidArgType("superCtor", "Function", parent);
  if (parent.prototype === undefined) throw invalidArgType("superCtor.prototype", "Object", parent.prototype);
  Object.defineProperty(constructor, "super_", { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

const warnedCodes = new Set();

// The same function, but whoever uses it first is told. A code is told of once, however many functions have it.
function deprecate(original, message, code) {
  if (code !== undefined) require("internal/errors").validateString(code, "code");
  let warn = () => {
    warn = () => {};
    if (code !== undefined) {
      if (warnedCodes.has(code)) return;
      warnedCodes.add(code);
    }
    require("internal/warning").emitWarning(message, "DeprecationWarning", code, deprecated);
  };
  const shown = { name: "deprecated", length: 0 };
  const deprecated = new Proxy(original, {
    get: (target, key, receiver) => (Object.hasOwn(shown, key) ? shown[key] : Reflect.get(target, key, receiver)),
    apply(target, receiver, args) {
      warn();
      return Reflect.apply(target, receiver, args);
    },
    construct(target, args, newTarget) {
      warn();
      return Reflect.construct(target, args, newTarget === deprecated ? target : newTarget);
    },
  });
  return deprecated;
}

// Whether NODE_DEBUG, a list with `*` as wildcard, names the section.
function isDebugged(section) {
  const list = env().NODE_DEBUG;
  if (!list) return false;
  const pattern = list.replace(/[|\\{}()[\]^$+?.]/g, "\\$&").replaceAll("*", ".*").replaceAll(",", "$|^");
  return new RegExp(`^${pattern}$`, "i").test(section);
}

function debuglog(section, ready) {
  section = section.toUpperCase();
  let enabled;
  const isEnabled = () => (enabled ??= isDebugged(section));
  let isFirst = true;
  const logger = (...args) => {
    if (isFirst) {
      isFirst = false;
      if (typeof ready === "function") ready(isEnabled() ? write : () => {});
    }
    if (isEnabled()) write(...args);
  };
  const write = (...args) => {
    const text = require("internal/format").format(...args);
    require("process").stderr.write(`${section} ${host.pid()}: ${text}\n`);
  };
  return Object.defineProperty(logger, "enabled", { get: isEnabled, configurable: true, enumerable: true });
}

// Text between the codes of a style, or of several, the first one outermost.
function styleText(format, text, options = {}) {
  const { validateBoolean, validateString } = require("internal/errors");
  validateString(text, "text");
  const { stream, validateStream = true } = options;
  validateBoolean(validateStream, "options.validateStream");
  const isList = Array.isArray(format);
  const codes = (isList ? format : [format]).map(styleCodes);
  // One style is left out where nobody would see it; a list of styles is not.
  if (validateStream && !isList && !showsColors(stream)) return text;
  return codes.reduceRight((inner, [on, off]) => `\u001b[${on}m${inner}\u001b[${off}m`, text);
}

function styleCodes(name) {
  const { colors } = require("internal/inspect").inspect;
  if (colors[name] != null) return colors[name];
  const known = Object.keys(colors).map((color) => `'${color}'`).join(", ");
  throw require("internal/errors").invalidArgValue("format", name, `must be one of: ${known}`);
}

function showsColors(stream) {
  const isTTY = stream === undefined ? host.isTTY(1) : stream.isTTY;
  return require("internal/colors").wantsColors(isTTY);
}

function stripVTControlCharacters(str) {
  require("internal/errors").validateString(str, "str");
  return require("internal/string_width").stripControls(str);
}

function toUSVString(input) {
  return `${input}`.toWellFormed();
}

function isDeepStrictEqual(a, b) {
  return require("internal/deep_equal").isDeepStrictEqual(a, b);
}

function log(...args) {
  const time = new Date();
  const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()];
  const digits = clock.map((part) => String(part).padStart(2, "0")).join(":");
  const stamp = `${time.getDate()} ${months[time.getMonth()]} ${digits}`;
  require("console").log("%s - %s", stamp, require("internal/format").format(...args));
}

function isError(value) {
  return require("internal/inspect").isError(value);
}

const exported = {
  _extend: (target, source) => (typeof source === "object" ? Object.assign(target, source) : target),
  callbackify,
  debug: debuglog,
  debuglog,
  deprecate,
  styleText,
  inherits,
  isArray: Array.isArray,
  isBoolean: (value) => typeof value === "boolean",
  isBuffer: (value) => require("buffer").Buffer.isBuffer(value),
  isDeepStrictEqual,
  isNull: (value) => value === null,
  isNullOrUndefined: (value) => value === null || value === undefined,
  isNumber: (value) => typeof value === "number",
  isString: (value) => typeof value === "string",
  isSymbol: (value) => typeof value === "symbol",
  isUndefined: (value) => value === undefined,
  isRegExp: (value) => require("internal/types").isRegExp(value),
  isObject: (value) => value !== null && typeof value === "object",
  isDate: (value) => require("internal/types").isDate(value),
  isError,
  isFunction: (value) => typeof value === "function",
  isPrimitive: (value) => value === null || (typeof value !== "object" && typeof value !== "function"),
  log,
  promisify,
  stripVTControlCharacters,
  toUSVString,
};

// What needs a larger module is loaded when it is first asked for.
const lazies = {
  format: () => require("internal/format").format,
  formatWithOptions: () => require("internal/format").formatWithOptions,
  inspect: () => require("internal/inspect").inspect,
  types: () => require("internal/types"),
  TextDecoder: () => require("internal/encoding").TextDecoder,
  TextEncoder: () => require("internal/encoding").TextEncoder,
};
for (const [name, load] of Object.entries(lazies)) {
  const define = (value) => {
    Object.defineProperty(exported, name, { value, writable: true, enumerable: true, configurable: true });
    return value;
  };
  const get = () => define(load());
  Object.defineProperty(exported, name, { get, set: define, enumerable: true, configurable: true });
}

module.exports = exported;

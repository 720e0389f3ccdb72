"use strict";

// The engine's stacks are frames alone; Node's begin with the error. The text is made when it is first read,
// as in Node: until then a constructor may still change the name.

const inherited = Object.getOwnPropertyDescriptor(Error.prototype, "stack");
const capture = Error.captureStackTrace;

// Errors whose stack was read: what the script deletes then is gone.
const made = new WeakSet();

function fix(object, value) {
  const property = { __proto__: null, value, writable: true, enumerable: false, configurable: true };
  Object.defineProperty(object, "stack", property);
}

function withHead(error, frames) {
  // What `Error.prepareStackTrace` of the script made stays as it is.
  if (typeof frames !== "string" || (frames !== "" && !frames.startsWith("    at "))) return frames;
  let head = "Error";
  try {
    head = Error.prototype.toString.call(error);
  } catch {
    // An error whose name or message cannot be read.
  }
  return frames === "" ? head : `${head}\n${frames.trimEnd()}`;
}

if (inherited?.get) {
  Object.defineProperty(Error.prototype, "stack", {
    get() {
      // An object may have an error as its prototype.
      for (let error = this; typeof error === "object" && error; error = Object.getPrototypeOf(error)) {
        const frames = inherited.get.call(error);
        if (frames === undefined) continue;
        if (made.has(error)) return undefined;
        const stack = withHead(error, frames);
        if (Object.isExtensible(error)) {
          made.add(error);
          fix(error, stack);
        }
        return stack;
      }
      return undefined;
    },
    set(value) {
      if (this !== Error.prototype) fix(this, value);
    },
    enumerable: false,
    configurable: true,
  });
}

function captureStackTrace(object, constructorOpt) {
  capture?.(object, typeof constructorOpt === "function" ? constructorOpt : captureStackTrace);
  const frames = Object.getOwnPropertyDescriptor(object, "stack")?.value ?? "";
  Object.defineProperty(object, "stack", {
    __proto__: null,
    get() {
      const stack = withHead(object, frames);
      if (!Object.isFrozen(object)) fix(object, stack);
      return stack;
    },
    set(value) {
      fix(this, value);
    },
    enumerable: false,
    configurable: true,
  });
}

Object.defineProperty(Error, "captureStackTrace", {
  value: captureStackTrace,
  writable: true,
  enumerable: false,
  configurable: true,
});

// Scripts would get hold of the functions in here, and by them of what they were not given. V8 does not show
// functions in strict mode either.
{
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = (_, sites) => sites;
  const holder = {};
  capture?.(holder);
  const site = holder.stack?.[0];
  if (typeof site === "object") delete Object.getPrototypeOf(site).getFunction;
  Error.prepareStackTrace = prepareStackTrace;
}

"use strict";

const { details } = host;

const kind = (value) => details(value)?.[0];
const boxed = (value) => {
  const found = details(value);
  return found?.[0] === "Boxed" ? found[1] : undefined;
};

const types = {};
for (const name of [
  "ArrayBuffer", "DataView", "Date", "External", "Map", "MapIterator", "Promise", "Proxy", "RegExp", "Set",
  "SetIterator", "SharedArrayBuffer", "WeakMap", "WeakSet",
]) {
  add(name, (value) => kind(value) === name);
}
for (const name of ["BigInt", "Boolean", "Number", "String", "Symbol"]) {
  add(`${name}Object`, (value) => boxed(value) === name);
}
for (const name of [
  "Uint8Array", "Uint8ClampedArray", "Uint16Array", "Uint32Array", "Int8Array", "Int16Array", "Int32Array",
  "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array",
]) {
  add(name, (value) => ArrayBuffer.isView(value) && details(value)[1] === name);
}
add("AnyArrayBuffer", (value) => types.isArrayBuffer(value) || types.isSharedArrayBuffer(value));
add("ArgumentsObject", (value) => kind(value) === "Arguments");
add("BoxedPrimitive", (value) => boxed(value) !== undefined);
add("GeneratorObject", (value) => kind(value) === "Generator" || kind(value) === "AsyncGenerator");
add("ModuleNamespaceObject", (value) => kind(value) === "Module");
add("NativeError", (value) => kind(value) === "Error");
add("TypedArray", (value) => kind(value) === "TypedArray");
types.isArrayBufferView = ArrayBuffer.isView;

const AsyncFunction = Object.getPrototypeOf(async () => {});
const GeneratorFunction = Object.getPrototypeOf(function* () {});
const AsyncGeneratorFunction = Object.getPrototypeOf(async function* () {});
const inherits = (value, prototype) =>
  typeof value === "function" && Object.prototype.isPrototypeOf.call(prototype, value);
const isAsyncGenerator = (value) => inherits(value, AsyncGeneratorFunction);
add("AsyncFunction", (value) => inherits(value, AsyncFunction) || isAsyncGenerator(value));
add("GeneratorFunction", (value) => inherits(value, GeneratorFunction) || isAsyncGenerator(value));

function add(name, test) {
  const key = `is${name}`;
  Object.defineProperty(test, "name", { value: key, configurable: true });
  types[key] = test;
}

module.exports = types;

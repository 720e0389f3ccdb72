"use strict";

function isClass(source) {
  if (!source.startsWith("class") || !source.endsWith("}")) return false;
  const rest = source.slice(5, -1);
  if (!rest.slice(0, rest.indexOf("{")).includes("(")) return rest.includes("{");
  return /^\s+[^({]*\{/.test(rest.replace(/\/\/.*|\/\*[^]*?\*\//g, ""));
}

const functionKinds = [
  [Object.getPrototypeOf(async function* () {}), "AsyncGeneratorFunction"],
  [Object.getPrototypeOf(function* () {}), "GeneratorFunction"],
  [Object.getPrototypeOf(async () => {}), "AsyncFunction"],
];

function functionKind(value) {
  const found = functionKinds.find(([prototype]) => Object.prototype.isPrototypeOf.call(prototype, value));
  return found ? found[1] : "Function";
}

function functionBase(value, { name, tag }) {
  const label = tag !== "" && tag !== name ? ` [${tag}]` : "";
  if (isClass(Function.prototype.toString.call(value))) {
    let text = `[class ${(Object.hasOwn(value, "name") && value.name) || "(anonymous)"}`;
    if (name !== "Function" && name !== null) text += ` [${name}]`;
    text += label;
    if (name === null) return `${text} extends [null prototype]]`;
    const parent = Object.getPrototypeOf(value).name;
    return `${text}${parent ? ` extends ${parent}` : ""}]`;
  }
  const kind = functionKind(value);
  let text = `[${kind}${name === null ? " (null prototype)" : ""}`;
  text += value.name === "" ? " (anonymous)]" : `: ${value.name}]`;
  if (name !== kind && name !== null) text += ` ${name}`;
  return text + label;
}

module.exports = { functionBase };

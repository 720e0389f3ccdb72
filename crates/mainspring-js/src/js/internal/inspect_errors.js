"use strict";

const { isError, prefix } = require("internal/inspect");

// An error whose prototype was replaced does not inherit its stack any more.
const inherited = Object.getOwnPropertyDescriptor(Error.prototype, "stack")?.get;

function stackOf(error) {
  const stack = inherited === undefined || "stack" in error ? error.stack : inherited.call(error);
  return stack ? String(stack) : Error.prototype.toString.call(error);
}

// Puts the class before a stack that tells only the name.
function improveStack(stack, info, name) {
  const { length } = name;
  const named =
    name.endsWith("Error") &&
    stack.startsWith(name) &&
    (stack.length === length || stack[length] === ":" || stack[length] === "\n");
  if (info.name === null) {
    const start = /^[A-Z][a-z_ A-Z0-9[\]()-]+(?=:|\n\s+at)|^[a-z_A-Z0-9-]*Error$/.exec(stack)?.[0];
    const known = prefix(info, start ?? "Error").slice(0, -1);
    return start === undefined ? `${known}: ${stack}` : known + stack.slice(start.length);
  }
  const known = prefix(info, "Error").slice(0, -1);
  if (!named || known === name) return stack;
  return `${known}${known.includes(name) ? "" : ` [${name}]`}${stack.slice(length)}`;
}

// The frames, those that the cause has as well left out.
function frames(ctx, error, text) {
  const lines = text.split("\n");
  const cause = error.cause != null && typeof error.cause === "object" && isError(error.cause) && error.cause;
  if (!cause) return lines;
  const causeStack = stackOf(cause);
  const start = causeStack.indexOf("\n    at");
  if (start === -1) return lines;
  const [length, at] = commonRun(lines, causeStack.slice(start + 1).split("\n"));
  if (length > 3) {
    const note = `    ... ${length - 2} lines matching cause stack trace ...`;
    lines.splice(at + 1, length - 2, ctx.stylize(note, "undefined"));
  }
  return lines;
}

function commonRun(lines, others) {
  for (let at = 0; at < lines.length - 3; at++) {
    const start = others.indexOf(lines[at]);
    if (start === -1) continue;
    const rest = others.length - start;
    let length = 1;
    while (length < rest && lines[at + length] === others[start + length]) length++;
    if (length > 3) return [length, at];
  }
  return [0, 0];
}

function directory() {
  try {
    return require("internal/process").status.object?.cwd() ?? host.cwd();
  } catch {
    // It may be gone.
    return undefined;
  }
}

// Greys out what is not the script's own: builtin modules, and the working directory.
function colorFrame(ctx, line, cwd) {
  if (/[( ](?:node|mainspring):[^)]*\)?$|\(native\)$/.test(line)) return ctx.stylize(line, "undefined");
  const packages = /(?<=[/\\]node_modules[/\\])(?:@[^/\\]+[/\\])?[^/\\]+/g;
  line = line.replace(packages, (name) => ctx.stylize(name, "module"));
  if (cwd === undefined) return line;
  const found = [`file://${encodeURI(cwd)}/`, `${cwd}/`].find((start) => line.includes(start));
  if (found === undefined) return line;
  let start = line.indexOf(found);
  const rest = start + found.length;
  let end = "";
  if (line[start - 1] === "(" && line.endsWith(")")) {
    start--;
    line = line.slice(0, -1);
    end = ctx.stylize(")", "undefined");
  }
  return line.slice(0, start) + ctx.stylize(line.slice(start, rest), "undefined") + line.slice(rest) + end;
}

function errorBase(ctx, error, info) {
  const { keys } = info;
  const name = error.name != null ? String(error.name) : "Error";
  let stack = stackOf(error);
  if (ctx.showHidden) {
    // The stack has just become a property: Node has it first.
    const index = keys.indexOf("stack");
    if (index !== -1) keys.splice(index, 1);
    if (Object.hasOwn(error, "stack")) keys.unshift("stack");
  } else {
    // What the stack tells need not be told again.
    for (const key of ["name", "message", "stack"]) {
      const index = keys.indexOf(key);
      if (index !== -1 && stack.includes(String(error[key]))) keys.splice(index, 1);
    }
  }
  if ("cause" in error && !keys.includes("cause")) keys.push("cause");
  if (Array.isArray(error.errors) && !keys.includes("errors")) keys.push("errors");
  stack = improveStack(stack, info, name);
  const at = error.message ? stack.indexOf(error.message) : -1;
  const start = stack.indexOf("\n    at", at === -1 ? 0 : at + error.message.length);
  if (start === -1) {
    stack = `[${stack}]`;
  } else {
    let lines = frames(ctx, error, stack.slice(start + 1));
    if (ctx.colors) {
      const cwd = directory();
      lines = lines.map((line) => colorFrame(ctx, line, cwd));
    }
    stack = `${stack.slice(0, start)}\n${lines.join("\n")}`;
  }
  return ctx.indent === 0 ? stack : stack.replaceAll("\n", `\n${" ".repeat(ctx.indent)}`);
}

module.exports = { errorBase };

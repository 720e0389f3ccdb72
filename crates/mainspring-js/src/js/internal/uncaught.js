"use strict";

const { emit, status } = require("internal/process");

// Where an error was made: the first frame of its stack whose source can be read, outside of its own class.
function position(error) {
  const { stack, constructor } = error;
  if (typeof stack !== "string") return undefined;
  for (const [, name, file, line, column] of stack.matchAll(/^ {4}at (?:(.*?) \()?(.+?):(\d+):(\d+)\)?$/gm)) {
    if (name !== undefined && name === constructor?.name) continue;
    const source = status.sourceLine?.(file, line) ?? host.sourceLine(file, Number(line));
    if (source !== undefined) return { file, line, column: Number(column) - 1, source };
  }
  return undefined;
}

// The mark below the line: at `throw` if the error was made and thrown there, or at `new`, or at its place.
function mark(source, column, name, isThrown) {
  let at = column;
  for (const { 1: made, index } of source.matchAll(/\bnew\s+(?:[\w$]+\.)*([\w$]+)/g)) {
    if (made === name && index <= column) at = index;
  }
  if (isThrown) {
    const thrown = source.slice(0, at).search(at < column ? /\bthrow\s[^;]*$/ : /\bthrow\s+$/);
    if (thrown >= 0) at = thrown;
  }
  return `${source.slice(0, at).replace(/[^\t]/g, " ")}^`;
}

function shown(error) {
  try {
    return require("internal/inspect").inspect(error, { depth: 5 });
  } catch {
    return String(error?.stack ?? error?.message ?? "an object that cannot be shown");
  }
}

// What a person reads of an error that ends the process.
function describe(error, isThrown) {
  if (typeof error === "string") return `Uncaught:\n${error}`;
  if (!(error instanceof Error)) return `Uncaught:\n${shown(error)}`;
  const at = position(error);
  if (at === undefined) return shown(error);
  const marked = mark(at.source, at.column, error.constructor?.name, isThrown);
  return `${at.file}:${at.line}\n${at.source}\n${marked}\n\n${shown(error)}`;
}

function die(error, code, isThrown) {
  const hint = require("internal/hints").hint(error);
  const note = hint === undefined ? "" : `\n${hint}\n`;
  try {
    host.write(2, `${describe(error, isThrown)}\n${note}\nMainspring v${host.version().mainspring}\n`);
  } catch {
    // A reader that is gone changes nothing about how the process ends.
  }
  host.exit(code);
}

// Tells the script's handlers of an error. True if there was one.
function handle(error, origin) {
  try {
    emit("uncaughtExceptionMonitor", error, origin);
    if (status.capture === null) return emit("uncaughtException", error, origin);
    status.capture(error);
    return true;
  } catch (inner) {
    return die(inner, 7, true);
  }
}

// Deals with an error that nothing caught. If neither the script nor the embedder does, the process ends.
function onUncaught(error, origin) {
  if (handle(error, origin)) {
    // As in Node, the loop turns once more.
    require("internal/timers").setImmediate(() => {});
    return true;
  }
  if (host.reportUncaught(error, origin)) return true;
  if (!status.exiting) {
    status.exiting = true;
    status.exitCode = 1;
    try {
      emit("exit", 1);
    } catch {
      // The first error is the one to show.
    }
  }
  return die(error, Number(status.exitCode ?? 1), origin === "uncaughtException");
}

module.exports = { onUncaught };

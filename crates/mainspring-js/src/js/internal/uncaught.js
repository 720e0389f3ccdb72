"use strict";

const { emit, status } = require("internal/process");

// Where an error was made: the first frame of its stack whose source can be read.
function position(stack) {
  for (const [, file, line, column] of stack.matchAll(/^ {4}at (?:.*? \()?(.+?):(\d+):(\d+)\)?$/gm)) {
    const source = status.sourceLine?.(file, line) ?? host.sourceLine(file, Number(line));
    if (source !== undefined) return { file, line, column: Number(column) - 1, source };
  }
  return undefined;
}

// Where the mark goes: at `throw` or `new`, if the error was made there.
function mark(source, column) {
  const before = /\b(?:throw\s+(?:new\s+)?|new\s+)[\w$.]*$/.exec(source.slice(0, column));
  return `${source.slice(0, before ? before.index : column).replace(/[^\t]/g, " ")}^`;
}

function shown(error) {
  try {
    return require("internal/inspect").inspect(error);
  } catch {
    return String(error?.stack ?? error?.message ?? "an object that cannot be shown");
  }
}

// What a person reads of an error that ends the process.
function describe(error) {
  if (typeof error === "string") return `Uncaught:\n${error}`;
  if (!(error instanceof Error)) return `Uncaught:\n${shown(error)}`;
  const { stack } = error;
  const at = typeof stack === "string" ? position(stack) : undefined;
  if (at === undefined) return shown(error);
  return `${at.file}:${at.line}\n${at.source}\n${mark(at.source, at.column)}\n\n${shown(error)}`;
}

function die(error, code) {
  const hint = error instanceof ReferenceError ? require("internal/absent").hint(error) : undefined;
  const note = hint === undefined ? "" : `\n${hint}\n`;
  host.write(2, `${describe(error)}\n${note}\nMainspring v${host.version().mainspring}\n`);
  host.exit(code);
}

// Tells the script of an error that nothing caught, then the embedder. Ends the process if neither handles it.
function onUncaught(error, origin) {
  try {
    emit("uncaughtExceptionMonitor", error, origin);
    if (status.capture !== null) {
      status.capture(error);
      return true;
    }
    if (emit("uncaughtException", error, origin)) return true;
  } catch (inner) {
    die(inner, 7);
  }
  if (host.reportUncaught(error, origin)) return true;
  status.exitCode = 1;
  if (!status.exiting) {
    status.exiting = true;
    try {
      emit("exit", 1);
    } catch {
      // The first error is the one to show.
    }
  }
  die(error, Number(status.exitCode ?? 1));
}

module.exports = { onUncaught };

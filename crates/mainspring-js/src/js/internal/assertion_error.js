"use strict";

const { inspect } = require("internal/inspect");

const titles = {
  deepStrictEqual: "Expected values to be strictly deep-equal:",
  strictEqual: "Expected values to be strictly equal:",
  strictEqualObject: 'Expected "actual" to be reference-equal to "expected":',
  deepEqual: "Expected values to be loosely deep-equal:",
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notStrictEqualObject: 'Expected "actual" not to be reference-equal to "expected":',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
  notDeepEqualUnequal: "Expected values not to be loosely deep-equal:",
  notIdentical: "Values have same structure but are not reference-equal:",
};

const maxLines = 50;
const isObject = (value) => value !== null && typeof value === "object";

function paint(code, text) {
  const hasColors = host.isTTY(2) && require("internal/colors").wantsColors(true);
  return hasColors ? `\u001b[${code}m${text}\u001b[39m` : text;
}

const green = (text) => paint(32, text);
const red = (text) => paint(31, text);
const dots = () => paint(34, "...");

function show(value) {
  return inspect(value, {
    compact: false,
    customInspect: false,
    depth: 1000,
    maxArrayLength: Infinity,
    showHidden: false,
    showProxy: false,
    sorted: true,
    getters: true,
  });
}

function cut(text, length) {
  return text.length > length ? `${text.slice(0, length - 3)}...` : text;
}

function cutLines(lines) {
  return lines.length > maxLines ? [...lines.slice(0, 46), dots()] : lines;
}

// The two sides line by line, with long runs of equal lines left out.
class Diff {
  constructor(actual, expected) {
    this.actual = actual;
    this.expected = expected;
    this.lines = [];
    // Lines of the expected value wait until the differing lines of the actual one are through.
    this.minus = [];
    // The lines of a run of equal ones behind its first two wait for its end.
    this.run = 0;
    this.held = [];
    this.printed = 0;
    this.isSkipped = false;
  }

  // Takes the lines that both end with, and returns what is shown of them.
  takeTail() {
    const { actual, expected } = this;
    const tail = [];
    while (actual.length > 0 && expected.length > 0 && actual.at(-1) === expected.at(-1)) {
      tail.unshift(`  ${actual.pop()}`);
      expected.pop();
    }
    if (tail.length < 5) return tail;
    this.isSkipped = true;
    return [tail[0], dots(), ...tail.slice(-3)];
  }

  same(line) {
    this.lines.push(...this.minus.splice(0));
    this.run++;
    if (this.run > 2) {
      this.held.push(line);
      return;
    }
    this.lines.push(`  ${line}`);
    this.printed++;
  }

  endRun() {
    let held = this.held.splice(0);
    if (held.length > 3) {
      this.lines.push(dots());
      this.isSkipped = true;
      held = held.slice(-2);
    }
    for (const line of held) this.lines.push(`  ${line}`);
    this.printed += held.length;
    this.run = 0;
  }

  plusLine(line) {
    this.lines.push(`${green("+")} ${line}`);
    this.printed++;
  }

  minusLine(line) {
    this.minus.push(`${red("-")} ${line}`);
    this.printed++;
  }

  // A comma at the end of one line is no difference.
  compare(actual, expected) {
    if (actual === expected || actual === `${expected},`) this.same(actual);
    else if (`${actual},` === expected) this.same(expected);
    else {
      this.endRun();
      this.plusLine(actual);
      this.minusLine(expected);
    }
  }

  text(title) {
    const tail = this.takeTail();
    const { actual, expected } = this;
    const count = Math.max(actual.length, expected.length);
    const head = `${title}\n${green("+ actual")} ${red("- expected")}`;
    const note = ` ${dots()} Lines skipped`;
    for (let index = 0; index < count; index++) {
      if (index < actual.length && index < expected.length) this.compare(actual[index], expected[index]);
      else {
        this.endRun();
        if (index < actual.length) this.plusLine(actual[index]);
        else this.minusLine(expected[index]);
      }
      if (this.printed > maxLines && index < count - 2) {
        return [head + note, "", ...this.lines, dots(), ...this.minus, dots()].join("\n");
      }
    }
    return [head + (this.isSkipped ? note : ""), "", ...this.lines, ...this.minus, ...tail].join("\n");
  }
}

// A mark below the first character that differs, unless that is easily seen.
function indicator(actual, expected) {
  if (actual.length + expected.length >= 80) return "";
  let at = 0;
  while (actual[at] === expected[at]) at++;
  return at > 2 ? `\n  ${" ".repeat(at)}^` : "";
}

function diffMessage(actual, expected, operator, message) {
  const [left, right] = [show(actual), show(expected)];
  const isByReference = (isObject(actual) && isObject(expected)) ||
    (typeof actual === "function" && typeof expected === "function");
  if (operator === "strictEqual" && isByReference) operator = "strictEqualObject";
  const title = message || titles[operator];
  if (left === right) return `${titles.notIdentical}\n\n${cutLines(left.split("\n")).join("\n")}\n`;
  let mark = "";
  if (!left.includes("\n") && !right.includes("\n")) {
    if (left.length + right.length <= 12) {
      if (!isObject(actual) && !isObject(expected) && (actual !== 0 || expected !== 0)) {
        return `${title}\n\n${left} !== ${right}\n`;
      }
    } else if (operator !== "strictEqualObject") mark = indicator(left, right);
  }
  return new Diff(left.split("\n"), right.split("\n")).text(title) + mark;
}

function unequalMessage(actual, operator) {
  const isByReference = isObject(actual) || typeof actual === "function";
  const title = titles[operator === "notStrictEqual" && isByReference ? "notStrictEqualObject" : operator];
  const lines = cutLines(show(actual).split("\n"));
  if (lines.length > 1) return `${title}\n\n${lines.join("\n")}\n`;
  return `${title}${lines[0].length > 5 ? "\n\n" : " "}${lines[0]}`;
}

function otherMessage(actual, expected, operator) {
  const [left, right] = [show(actual), show(expected)];
  if (operator === "notDeepEqual" && left === right) return cut(`${titles.notDeepEqual}\n\n${left}`, 1024);
  const [first, second] = [cut(left, 512), cut(right, 512)];
  if (operator === "deepEqual") {
    return `${titles.deepEqual}\n\n${first}\n\nshould loosely deep-equal\n\n${second}`;
  }
  if (operator === "notDeepEqual") {
    return `${titles.notDeepEqualUnequal}\n\n${first}\n\nshould not loosely deep-equal\n\n${second}`;
  }
  return `${first} ${operator} ${second}`;
}

// An error without its stack, which would only hide what differs.
function withoutStack(error) {
  const copy = Object.assign(Object.create(Object.getPrototypeOf(error)), error);
  return Object.defineProperty(copy, "message", { __proto__: null, value: error.message });
}

function describe(actual, expected, operator, message) {
  if (operator === "deepStrictEqual" || operator === "strictEqual") {
    return diffMessage(actual, expected, operator, message);
  }
  if (message != null) return String(message);
  if (operator !== "notDeepStrictEqual" && operator !== "notStrictEqual") {
    return otherMessage(actual, expected, operator);
  }
  return unequalMessage(actual, operator);
}

function shorten(value) {
  if (typeof value !== "string") return value;
  const lines = value.split("\n", 11);
  if (lines.length > 10) return `${lines.slice(0, 10).join("\n")}\n...`;
  return value.length > 512 ? `${value.slice(512)}...` : value;
}

class AssertionError extends Error {
  constructor(options) {
    require("internal/errors").validateObject(options, "options");
    const { message, operator, stackStartFn, stackStartFunction } = options;
    let { actual, expected } = options;
    if (message == null && actual instanceof Error && expected instanceof Error) {
      [actual, expected] = [withoutStack(actual), withoutStack(expected)];
    }
    super(describe(actual, expected, operator, message));
    this.generatedMessage = !message;
    Object.defineProperty(this, "name", {
      __proto__: null,
      value: "AssertionError [ERR_ASSERTION]",
      enumerable: false,
      writable: true,
      configurable: true,
    });
    this.code = "ERR_ASSERTION";
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
    Error.captureStackTrace(this, stackStartFn || stackStartFunction);
    // The stack is fixed while the name has the code in it.
    const { stack } = this;
    const property = { __proto__: null, value: stack, writable: true, configurable: true };
    Object.defineProperty(this, "stack", property);
    this.name = "AssertionError";
  }

  toString() {
    return `${this.name} [${this.code}]: ${this.message}`;
  }

  [inspect.custom](depth, options) {
    const { actual, expected } = this;
    this.actual = shorten(actual);
    this.expected = shorten(expected);
    const text = inspect(this, { ...options, customInspect: false, depth: 0 });
    Object.assign(this, { actual, expected });
    return text;
  }
}

module.exports = { AssertionError };

"use strict";

// Runs the tests of Promises/A+ one after the other, as mocha would:
//   runner.cjs TESTS-DIRECTORY ADAPTER-FILE
// The tests use describe, specify, beforeEach and afterEach, and find the promises in `global.adapter`.

const fs = require("fs");
const path = require("path");

const TIMEOUT = 2000;

const [directory, adapterFile] = process.argv.slice(2).map((file) => path.resolve(file));

// What describe() builds: suites with their hooks, and tests, in the order of the source.
const root = { title: "", parent: null, before: [], after: [], children: [] };
let open = root;

global.describe = (title, body) => {
  const suite = { title, parent: open, before: [], after: [], children: [] };
  open.children.push(suite);
  open = suite;
  try {
    body.call({});
  } finally {
    open = suite.parent;
  }
};
global.specify = (title, body) => open.children.push({ title, parent: open, body });
global.beforeEach = (hook) => open.before.push(hook);
global.afterEach = (hook) => open.after.push(hook);

// Ends the step that is under way with a failure. A test that has ended is not asked any more.
let fail = () => {};
process.on("uncaughtException", (error) => fail(error));

// Rejections that nobody handles are what many tests are about. If such a test times out, they may tell why.
let rejections = [];
process.on("unhandledRejection", (reason) => rejections.push(reason));
process.on("rejectionHandled", () => {});

// One function of a test: it ends by returning, by its promise, or by calling `done` if it takes it. If it calls
// that again, this is held against the test that is under way then.
function step(body) {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const timer = setTimeout(() => {
      const hint = rejections.find((reason) => reason instanceof Error);
      reject(hint ?? new Error(`not done within ${TIMEOUT} ms`));
    }, TIMEOUT);
    const end = (settle) => (value) => {
      isOver = true;
      clearTimeout(timer);
      settle(value);
    };
    fail = end(reject);
    if (body.length > 0) {
      body.call({}, (error) => {
        if (isOver) {
          fail(new Error("a test before this one called done() again"));
        } else if (error) {
          fail(error);
        } else {
          end(resolve)();
        }
      });
    } else {
      const result = body.call({});
      if (typeof result?.then === "function") {
        result.then(end(resolve), fail);
      } else {
        end(resolve)();
      }
    }
  });
}

function ancestors(test) {
  const suites = [];
  for (let suite = test.parent; suite; suite = suite.parent) {
    suites.unshift(suite);
  }
  return suites;
}

async function runTest(test) {
  const suites = ancestors(test);
  rejections = [];
  try {
    for (const hook of suites.flatMap((suite) => suite.before)) {
      await step(hook);
    }
    await step(test.body);
  } finally {
    for (const hook of suites.reverse().flatMap((suite) => suite.after)) {
      await step(hook);
    }
    fail = () => {};
  }
}

function* tests(suite) {
  for (const child of suite.children) {
    if (child.body) {
      yield child;
    } else {
      yield* tests(child);
    }
  }
}

async function main() {
  const { deferred, resolved, rejected } = require(adapterFile);
  global.adapter = { deferred, resolved, rejected };
  for (const file of fs.readdirSync(directory).sort()) {
    if (file.endsWith(".js")) {
      require(path.join(directory, file));
    }
  }

  let total = 0;
  let passed = 0;
  for (const test of tests(root)) {
    total += 1;
    try {
      await runTest(test);
      passed += 1;
    } catch (error) {
      const titles = [...ancestors(test).slice(1), test].map((part) => part.title);
      console.log(`FAILED ${titles.join(" > ")}\n  ${error?.stack ?? error}`);
    }
  }
  console.log(`${passed} of ${total} pass`);
  process.exit(passed === total && total > 0 ? 0 : 1);
}

main().catch((error) => {
  console.log(error);
  process.exit(1);
});

// What the Rust peers do, in JavaScript. Arguments: workload, size, rounds. Writes JSON: figure → nanoseconds, or bytes.
'use strict';

const [workload, size, rounds] = [process.argv[1], ...process.argv.slice(2).map(Number)];

// What the handlers did.
let ended = 0;
let sum = 0;

// A handler captures three values, as it does in Rust.
const step = (add, subtract, plus) => value => plus(value, add) - subtract;
const end = (add, subtract, plus) => value => {
  ended += 1;
  sum = plus(sum, value) + add - subtract;
};
const plus = (one, other) => one + other;

function expect(expectedEnded, expectedSum) {
  if (ended !== expectedEnded || sum !== expectedSum) {
    throw new Error(`${ended} handlers, ${sum}; not ${expectedEnded}, ${expectedSum}`);
  }
  ended = sum = 0;
}

// CPU time is that of all threads, those of the garbage collector included; they may work at the same time.
// The less of it and of the time that passed is what is reported, for each figure.
class Clock {
  constructor() {
    this.cpu = 0;
    this.passed = 0;
  }

  begin() {
    this.beginCpu = process.cpuUsage();
    this.beginPassed = performance.now();
  }

  end() {
    this.passed += performance.now() - this.beginPassed;
    const { user, system } = process.cpuUsage(this.beginCpu);
    this.cpu += user + system;
  }

  nanoseconds() {
    return Math.min(this.cpu * 1e3, this.passed * 1e6);
  }
}

// What `Promise.withResolvers` does, which Node 20 does not have.
function pending() {
  let resolve;
  const promise = new Promise(resolver => { resolve = resolver; });
  return { promise, resolve };
}

// What was queued as a microtask before, and what that queues, has run when this has.
const turn = () => new Promise(resolve => setImmediate(resolve));

async function single(clocks) {
  clocks.all.begin();
  for (let number = 0; number < size; number += 1) {
    const { promise, resolve } = pending();
    promise.then(end(3, 3, plus));
    resolve(number);
  }
  await turn();
  clocks.all.end();
  expect(size, size * (size - 1) / 2);
}

async function chain(clocks) {
  clocks.building.begin();
  const first = pending();
  let last = first.promise;
  for (let link = 1; link < size; link += 1) {
    last = last.then(step(3, 2, plus));
  }
  last = last.then(end(3, 3, plus));
  clocks.building.end();
  clocks.settling.begin();
  first.resolve(0);
  await last;
  clocks.settling.end();
  expect(1, size - 1);
}

async function all(clocks) {
  const groups = Math.max(1, Math.floor(1000 / size));
  clocks.all.begin();
  for (let group = 0; group < groups; group += 1) {
    const promises = new Array(size);
    const resolvers = new Array(size);
    for (let number = 0; number < size; number += 1) {
      promises[number] = new Promise(resolve => { resolvers[number] = resolve; });
    }
    const handler = end(3, 3, plus);
    Promise.all(promises).then(values => {
      let total = 0;
      for (let number = 0; number < size; number += 1) {
        total += values[number];
      }
      handler(total);
    });
    for (let number = 0; number < size; number += 1) {
      resolvers[number](number);
    }
  }
  await turn();
  clocks.all.end();
  expect(groups, groups * size * (size - 1) / 2);
}

// Promises wait, each with a handler, and then all are resolved. What is garbage by then is not counted. Returns bytes.
async function waiting() {
  const resolvers = new Array(size).fill(null);
  gc();
  const before = process.memoryUsage();
  for (let number = 0; number < size; number += 1) {
    new Promise(resolve => { resolvers[number] = resolve; }).then(end(3, 3, plus));
  }
  gc();
  const after = process.memoryUsage();
  for (let number = 0; number < size; number += 1) {
    resolvers[number](number);
  }
  await turn();
  expect(size, size * (size - 1) / 2);
  return { allocated: after.heapUsed - before.heapUsed, resident: after.rss - before.rss };
}

async function main() {
  if (workload === 'pending') {
    console.log(JSON.stringify(await waiting()));
    return;
  }
  const run = { single, chain, all }[workload];
  const clocks = () => ({ all: new Clock(), building: new Clock(), settling: new Clock() });
  // So that it is compiled.
  for (let round = 0; round < Math.max(1, rounds / 4); round += 1) {
    await run(clocks());
  }
  const measured = clocks();
  for (let round = 0; round < rounds; round += 1) {
    await run(measured);
  }
  const figures = Object.entries(measured).map(([name, clock]) => [name, clock.nanoseconds()]);
  console.log(JSON.stringify(Object.fromEntries(figures)));
}

main().catch(error => {
  console.error(error);
  process.exitCode = 1;
});

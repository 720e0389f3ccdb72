// What the Rust peers do, in JavaScript. Arguments: workload, count. Standard input has 32-bit numbers: first the
// delays, then for each round the order in which timers are cancelled. Writes a line for each figure: name, tab,
// value.
'use strict';

const [workload, count] = [process.argv[2], Number(process.argv[3])];
const bytes = require('node:fs').readFileSync(0);
const numbers = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
const delays = numbers.subarray(0, count);
const rounds = numbers.length / count - 1;
const order = round => numbers.subarray(count * (1 + round), count * (2 + round));

const report = (metric, value) => process.stdout.write(`${metric}\t${value}\n`);

// Timers count in milliseconds; rounded up, so that rounding does not make one early.
const milliseconds = Math.ceil;

// How late timers were, in milliseconds, in the order of firing.
class Tally {
  constructor(expected, done) {
    Object.assign(this, { expected, done, late: new Float64Array(expected), fired: 0 });
  }

  fire(deadline) {
    this.late[this.fired] = performance.now() - deadline;
    this.fired += 1;
    if (this.fired === this.expected) this.done();
  }

  // In microseconds, sorted.
  take() {
    if (this.fired !== this.expected) throw new Error(`${this.fired} fired, not ${this.expected}`);
    return this.late.map(late => late * 1e3).sort();
  }
}

// A callback captures three values, as it does in Rust.
const callback = (tally, deadline, fire) => () => fire(tally, deadline);
const fire = (tally, deadline) => tally.fire(deadline);

const never = () => { throw new Error('a timer fired that was cancelled'); };

function fill(timers, length) {
  for (let number = 0; number < length; number += 1) {
    timers[number] = setTimeout(callback(never, 0, never), milliseconds(delays[number]));
  }
}

async function drain(timers, order) {
  for (const number of order) {
    clearTimeout(timers[number]);
    timers[number] = undefined;
  }
  await turn();
}

const turn = () => new Promise(resolve => setImmediate(resolve));

// CPU time is that of all threads, those of the garbage collector included; they may work at the same time.
// The less of it and of the time that passed is what is reported. In nanoseconds.
class Clock {
  begin = { cpu: process.cpuUsage(), passed: performance.now() };

  cpu() {
    const { user, system } = process.cpuUsage(this.begin.cpu);
    return (user + system) * 1e3;
  }

  elapsed() {
    return Math.min(this.cpu(), (performance.now() - this.begin.passed) * 1e6);
  }
}

async function churn() {
  const timers = new Array(count).fill(undefined);
  // So that it is compiled.
  const few = Math.min(count, 1_000);
  for (let round = 0; round < 10; round += 1) {
    fill(timers, few);
    await drain(timers, timers.slice(0, few).keys());
  }
  let [inserting, cancelling] = [0, 0];
  for (let round = 0; round < rounds; round += 1) {
    let clock = new Clock();
    fill(timers, count);
    inserting += clock.elapsed();
    if (round === rounds - 1) report('insert, ns per timer', inserting / (rounds * count));
    clock = new Clock();
    await drain(timers, order(round));
    cancelling += clock.elapsed();
  }
  report('cancel, ns per timer', cancelling / (rounds * count));
}

// The delays are in nanoseconds, and begin after the lead.
async function firing() {
  for (let lead = 100; ;) {
    const begin = performance.now();
    const deadlines = Float64Array.from(delays, delay => begin + lead + delay / 1e6);
    let tally;
    const done = new Promise(resolve => { tally = new Tally(count, resolve); });
    for (const deadline of deadlines) {
      const delay = milliseconds(deadline - performance.now());
      setTimeout(callback(tally, deadline, fire), delay);
    }
    const inserted = performance.now() - begin;
    const clock = new Clock();
    await done;
    const cpu = clock.cpu();
    if (inserted > lead) {
      lead = 2 * inserted;
      continue;
    }
    const late = tally.take();
    report('CPU time, µs per timer', cpu / 1e3 / count);
    lateness(late);
    report('late, max, µs', late[late.length - 1]);
    report('early, timers', late.filter(late => late < 0).length);
    return;
  }
}

async function chain() {
  let tally;
  const done = new Promise(resolve => { tally = new Tally(count, resolve); });
  const link = () => {
    const deadline = performance.now() + 1.3;
    setTimeout(() => {
      tally.fire(deadline);
      if (tally.fired < count) link();
    }, milliseconds(1.3));
  };
  link();
  await done;
  lateness(tally.take());
}

function lateness(late) {
  const percentile = share => late[Math.max(0, Math.ceil(share * late.length) - 1)];
  report('late, p50, µs', percentile(0.5));
  report('late, p99, µs', percentile(0.99));
}

// A timer is an object, so what is allocated is what is alive on the heap.
async function memory() {
  const timers = new Array(count).fill(undefined);
  const used = () => {
    gc();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const [live, resident] = [used(), process.memoryUsage.rss()];
  fill(timers, count);
  const now = process.memoryUsage.rss();
  report('allocated, bytes per timer', (used() - live) / count);
  report('resident, bytes per timer', (now - resident) / count);
  await drain(timers, order(0));
  report('left after cancelling, KiB in all', (used() - live) / 1024);
}

({ churn, firing, chain, memory })[workload]().catch(error => {
  console.error(error);
  process.exitCode = 1;
});

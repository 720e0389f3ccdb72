// What the Rust peers do, in JavaScript. Arguments: workload, size, rounds, what a link is queued with, and the processors
// of this thread and of the other one, if they are to have one each. Writes lines of a metric, a tab, and its value, under
// the names that the Rust peers use.
'use strict';

const { Worker, MessageChannel } = require('node:worker_threads');
const [workload, size, rounds, by, ...processors] =
  [process.argv[1], Number(process.argv[2]), Number(process.argv[3]), ...process.argv.slice(4)];

const report = (metric, value) => console.log(`${metric}\t${value}`);
const warmUp = Math.ceil(rounds / 4);

// CPU time is that of all threads, those of the garbage collector included; they may work at the same time.
// The less of it and of the time that passed is what is reported.
function startClock() {
  const cpu = process.cpuUsage();
  const passed = performance.now();
  return () => {
    const nanoseconds = (performance.now() - passed) * 1e6;
    const { user, system } = process.cpuUsage(cpu);
    return { passed: nanoseconds, cpu: (user + system) * 1e3, less: Math.min(nanoseconds, (user + system) * 1e3) };
  };
}

function assert(condition, text) {
  if (!condition) throw new Error(text);
}

// A callback posts `size` tasks to its own loop, again and again.
function here() {
  let next = 0;
  // A task captures three values, as it does in Rust.
  const task = (tally, producer, number) => () => {
    assert(tally.next[producer] === number, 'each runs once, and in its order');
    tally.next[producer] += 1;
  };
  const tally = { next: [0] };
  let clock;
  const batch = round => {
    if (round === warmUp) clock = startClock();
    if (round === warmUp + rounds) {
      const { less } = clock();
      assert(tally.next[0] === size * (warmUp + rounds), 'all have run');
      report('ns per task', less / (size * rounds));
      return;
    }
    for (let count = 0; count < size; count += 1) {
      setImmediate(task(tally, 0, next));
      next += 1;
    }
    setImmediate(() => batch(round + 1));
  };
  batch(0);
}

// A callback queues the next one, again and again.
function chain() {
  const queue = by === 'next-tick' ? process.nextTick : queueMicrotask;
  let clock;
  const link = left => {
    if (left === rounds) clock = startClock();
    if (left === 0) {
      report('ns per link', clock().less / rounds);
      return;
    }
    queue(() => link(left - 1));
  };
  link(rounds + warmUp);
}

// The value that `share` of the sorted values are not greater than.
const percentile = (sorted, share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
const sorted = values => values.sort((one, other) => one - other);

// Binds the thread that calls it to a processor, if it is told one. Its source is a part of that of the workers, too.
function pinTo(processor) {
  if (processor === undefined) return;
  const thread = require('node:fs').readlinkSync('/proc/thread-self').split('/').pop();
  require('node:child_process').execFileSync('taskset', ['-cp', processor, thread], { stdio: 'ignore' });
}
const pinWorker = `${pinTo}; pinTo(${JSON.stringify(processors[1])});`;

// A worker posts to this thread, which sleeps, again and again. Both have the same clock.
function wakeAsleep() {
  pinTo(processors[0]);
  const shared = new SharedArrayBuffer(16);
  // How many were heard; it is also what the worker waits with.
  const heard = new Int32Array(shared);
  const worker = new Worker(`
    ${pinWorker}
    const { workerData: { shared, all }, parentPort } = require('node:worker_threads');
    const heard = new Int32Array(shared);
    const pause = new Int32Array(new SharedArrayBuffer(4));
    const calls = [];
    for (let number = 0; number < all; number += 1) {
      while (Atomics.load(heard, 0) !== number) Atomics.wait(pause, 0, 0, 0.2);
      Atomics.wait(pause, 0, 0, 0.2);
      const begin = process.hrtime.bigint();
      parentPort.postMessage({ number, begin });
      calls.push(Number(process.hrtime.bigint() - begin));
    }
    parentPort.postMessage({ calls });
  `, { eval: true, workerData: { shared, all: warmUp + rounds } });
  const late = [];
  worker.on('message', message => {
    const now = process.hrtime.bigint();
    if (message.calls) {
      assert(late.length === warmUp + rounds, 'each has run once');
      const measured = sorted(late.slice(warmUp));
      report('until it runs, median, µs', percentile(measured, 0.5) / 1e3);
      report('until it runs, 99th perc., µs', percentile(measured, 0.99) / 1e3);
      report('the call in the other thread, µs', percentile(sorted(message.calls.slice(warmUp)), 0.5) / 1e3);
      return;
    }
    assert(message.number === late.length, 'each runs once, and in its order');
    late.push(Number(now - message.begin));
    Atomics.store(heard, 0, message.number + 1);
  });
}

// A worker and this thread post to each other back to back.
function hot() {
  pinTo(processors[0]);
  const worker = new Worker(`
    ${pinWorker}
    const { parentPort } = require('node:worker_threads');
    parentPort.on('message', left => {
      if (left < 0) return parentPort.close();
      parentPort.postMessage(left);
    });
  `, { eval: true });
  let clock;
  let left = warmUp + rounds;
  worker.on('message', answer => {
    assert(answer === left, 'each runs once, and in its order');
    left -= 1;
    if (left === rounds) clock = startClock();
    if (left === 0) {
      const { passed, cpu } = clock();
      report('µs per round trip', passed / 1e3 / rounds);
      report('CPU time, both, µs per round trip', cpu / 1e3 / rounds);
      worker.postMessage(-1);
      return;
    }
    worker.postMessage(left);
  });
  worker.postMessage(left);
}

// Waits for posts, of which there is none for so many milliseconds.
function idle() {
  const { port1, port2 } = new MessageChannel();
  port1.on('message', () => { throw new Error('nobody posts'); });
  setTimeout(() => {
    port1.close();
    port2.close();
  }, size);
}

({ here, chain, 'wake-asleep': wakeAsleep, hot, idle })[workload]();

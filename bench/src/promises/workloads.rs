//! What is measured. Each function runs in a process of its own.

use std::time::{Duration, Instant};

use super::peers::{Offload, Promises, Step, Tally};
use crate::measure::{count_memory, process_cpu};
use crate::workloads::room;

pub const SINGLE: &str = "ns per promise";
pub const TOGETHER: &str = "built and settled, ns per link";
pub const BUILDING: &str = "building alone, ns per link";
pub const SETTLING: &str = "settling alone, ns per link";
pub const ALLOCATIONS: &str = "allocations per link";
pub const BYTES: &str = "bytes asked for, per link that waits";
pub const ALLOCATED: &str = "allocated, bytes per promise";
pub const RESIDENT: &str = "resident, bytes per promise";
pub const INPUT: &str = "ns per input";
pub const PASSED: &str = "time that passes, µs per job";
pub const CPU: &str = "CPU time, all threads, µs per job";

/// Hands a figure to the process that compares them.
fn report(metric: &str, value: f64) {
    println!("{metric}\t{value}");
}

fn nanoseconds(all: Duration, count: usize) -> f64 {
    all.as_nanos() as f64 / count as f64
}

/// What the numbers below `count` are together.
fn sum_below(count: usize) -> u64 {
    (count * (count - 1) / 2) as u64
}

/// How often a workload is repeated before it is measured, for as many rounds.
fn warm_up(rounds: usize) -> usize {
    rounds.div_ceil(4)
}

/// `size` promises at a time.
pub fn single<P: Promises>(size: usize, rounds: usize) {
    let mut peer = P::new();
    let tally = Tally::new();
    let mut round = || {
        let (time, ()) = process_cpu(|| peer.single(size, Step::new(tally)));
        tally.expect(size, sum_below(size));
        time
    };
    (0..warm_up(rounds)).for_each(|_| _ = round());
    let time = (0..rounds).map(|_| round()).sum();
    report(SINGLE, nanoseconds(time, size * rounds));
}

/// A chain of `size` links, again and again.
pub fn chain<P: Promises>(size: usize, rounds: usize) {
    let mut peer = P::new();
    let tally = Tally::new();
    for _ in 0..warm_up(rounds) {
        links(&mut peer, size, tally);
    }
    let (mut building, mut settling) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..rounds {
        let round = links(&mut peer, size, tally);
        building += round.building;
        settling += round.settling;
    }
    report(TOGETHER, nanoseconds(building + settling, size * rounds));
    report(SETTLING, nanoseconds(settling, size * rounds));
    report(BUILDING, nanoseconds(building, size * rounds));
    // What is there once, for the first promise or the loop, is in both.
    let memory = count_memory();
    let mut counted = |size| {
        let (live, allocations) = (memory.live(), memory.allocations());
        let chain = peer.build(size, Step::new(tally));
        let live = memory.live() - live;
        peer.settle(chain);
        tally.expect(1, size as u64 - 1);
        (live as f64, (memory.allocations() - allocations) as f64)
    };
    let (few, many) = (counted(2), counted(size + 2));
    report(ALLOCATIONS, (many.1 - few.1) / size as f64);
    report(BYTES, (many.0 - few.0) / size as f64);
}

/// How long each half took.
struct Round {
    building: Duration,
    settling: Duration,
}

fn links(peer: &mut impl Promises, size: usize, tally: &'static Tally) -> Round {
    let (building, chain) = process_cpu(|| peer.build(size, Step::new(tally)));
    tally.expect(0, 0);
    let (settling, ()) = process_cpu(|| peer.settle(chain));
    tally.expect(1, size as u64 - 1);
    Round { building, settling }
}

/// `size` promises wait, each with a handler, and then all are resolved.
pub fn pending<P: Promises>(size: usize) {
    let mut peer = P::new();
    let tally = Tally::new();
    let mut resolvers = room(size);
    let memory = count_memory();
    let before = memory.live();
    peer.pend(size, Step::new(tally), &mut resolvers);
    let (live, resident) = (memory.live() - before, memory.resident());
    tally.expect(0, 0);
    peer.resolve(&mut resolvers);
    tally.expect(size, sum_below(size));
    report(ALLOCATED, live as f64 / size as f64);
    report(RESIDENT, resident as f64 / size as f64);
}

/// How many groups of as many promises there are at a time.
pub fn groups(size: usize) -> usize {
    (1_000 / size).max(1)
}

/// All of `size`, at least 1,000 promises at a time.
pub fn all<P: Promises>(size: usize, rounds: usize) {
    let mut peer = P::new();
    let tally = Tally::new();
    let mut round = || {
        let (time, ()) = process_cpu(|| peer.all(groups(size), size, Step::new(tally)));
        tally.expect(groups(size), groups(size) as u64 * sum_below(size));
        time
    };
    (0..warm_up(rounds)).for_each(|_| _ = round());
    let time = (0..rounds).map(|_| round()).sum();
    report(INPUT, nanoseconds(time, groups(size) * size * rounds));
}

/// As many jobs, `size` of them at a time.
pub fn offload<P: Offload>(size: usize, jobs: usize) {
    let mut peer = P::new();
    let tally = Tally::new();
    let mut round = |jobs: usize| {
        let begin = Instant::now();
        let (cpu, ()) = process_cpu(|| peer.round_trips(jobs, size, Step::new(tally)));
        let passed = begin.elapsed();
        tally.expect(jobs, sum_below(jobs) + jobs as u64);
        (passed, cpu)
    };
    round(warm_up(jobs));
    let (passed, cpu) = round(jobs);
    report(PASSED, nanoseconds(passed, jobs) / 1e3);
    report(CPU, nanoseconds(cpu, jobs) / 1e3);
}

//! What is measured. Each function runs in a process of its own, and reports as soon as it knows.

use std::mem::MaybeUninit;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::measure::{Random, count_memory, percentile, process_cpu, thread_cpu};
use crate::peers::{Fires, Peer, Tally};

/// Hands a figure to the process that compares them.
fn report(metric: &str, value: f64) {
    println!("{metric}\t{value}");
}

/// Long enough for the slowest peer to set and to cancel a million before the first one is due.
pub fn long_delays(random: &mut Random, count: usize) -> Vec<Duration> {
    random.durations(count, Duration::from_secs(10), Duration::from_secs(3600))
}

/// How often as many timers are set and cancelled, one after the other.
pub fn rounds(count: usize) -> usize {
    const OPERATIONS: usize = 200_000;
    OPERATIONS.div_ceil(2 * count)
}

/// The time within which timers fire.
pub const FIRING: Duration = Duration::from_millis(200);

/// An empty vector, whose memory is there already.
pub fn room<T>(count: usize) -> Vec<T> {
    let mut room = Vec::with_capacity(count);
    room.spare_capacity_mut().fill_with(MaybeUninit::zeroed);
    room
}

/// Nothing fired, and nothing is left of what was cancelled.
fn all_cancelled(tally: &Rc<Tally>) {
    tally.take();
    assert_eq!(Rc::strong_count(tally), 1, "what was captured has been dropped");
}

/// Sets `count` timers that are far away, and cancels them in a random order.
pub fn churn<P: Peer>(count: usize) {
    let mut random = Random::new();
    let delays = long_delays(&mut random, count);
    let mut ids = room(count);
    let tally = Tally::new(0);
    let mut peer = P::new();
    let rounds = rounds(count);
    let mut inserting = Duration::ZERO;
    let mut cancelling = Duration::ZERO;
    let each = |all: Duration| all.as_nanos() as f64 / (rounds * count) as f64;
    for round in 1..=rounds {
        inserting += thread_cpu(|| peer.fill(&delays, &tally, &mut ids)).0;
        assert_eq!((ids.len(), Rc::strong_count(&tally)), (count, count + 1));
        if round == rounds {
            report("insert, ns per timer", each(inserting));
        }
        random.shuffle(&mut ids);
        cancelling += thread_cpu(|| peer.drain(&mut ids)).0;
        all_cancelled(&tally);
    }
    report("cancel, ns per timer", each(cancelling));
}

/// Lets `count` timers fire within 200 ms.
pub fn firing<P: Fires>(count: usize) {
    let mut lead = Duration::from_millis(100);
    loop {
        let delays = Random::new().durations(count, lead, lead + FIRING);
        let begin = Instant::now();
        let deadlines: Vec<_> = delays.into_iter().map(|delay| begin + delay).collect();
        let tally = Tally::new(count);
        let mut peer = P::new();
        peer.fill_until(&deadlines, &tally);
        let inserted = begin.elapsed();
        let (cpu, ()) = process_cpu(|| peer.run(&tally));
        let late = tally.take();
        if inserted > lead {
            // Timers were due before all were there: with more time for that, once more.
            lead = 2 * inserted;
            continue;
        }
        report("CPU time, µs per timer", cpu.as_secs_f64() * 1e6 / count as f64);
        lateness_of::<P>(&late);
        report("late, max, µs", percentile(&late, 1.0) / 1e3);
        report("early, timers", late.iter().filter(|&&late| late < 0).count() as f64);
        return;
    }
}

/// Runs `count` timers of 1.3 ms, one after the other.
pub fn chain<P: Fires>(count: usize) {
    let tally = Tally::new(count);
    P::new().chain(Duration::from_micros(1_300), &tally);
    lateness_of::<P>(&tally.take());
}

fn lateness_of<P: Fires>(late: &[i64]) {
    assert!(!P::NEVER_EARLY || late[0] >= 0, "a timer fired {} ns early", -late[0]);
    report("late, p50, µs", percentile(late, 0.5) / 1e3);
    report("late, p99, µs", percentile(late, 0.99) / 1e3);
}

/// Sets `count` timers, and cancels them, as [`churn`] does.
pub fn memory<P: Peer>(count: usize) {
    let mut random = Random::new();
    let delays = long_delays(&mut random, count);
    let mut ids = room(count);
    let tally = Tally::new(0);
    let mut peer = P::new();
    let memory = count_memory();
    peer.fill(&delays, &tally, &mut ids);
    let (live, resident) = (memory.live(), memory.resident());
    report("allocated, bytes per timer", live as f64 / count as f64);
    report("resident, bytes per timer", resident as f64 / count as f64);
    random.shuffle(&mut ids);
    peer.drain(&mut ids);
    report("left after cancelling, KiB in all", memory.live() as f64 / 1024.0);
    all_cancelled(&tally);
}

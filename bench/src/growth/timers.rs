//! As many timers as the population are set at once.

use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use super::{CANCEL, FIRE, INSERT, report};
use crate::measure::{Random, process_cpu, thread_cpu};
use crate::peers::{Fires, Peer, Tally};

/// Timers that are far away are set in an empty loop, and cancelled in a random order. The first round is not
/// measured, so that no population pays for fresh memory.
pub fn set_and_cancel<P: Peer>(population: usize, rounds: usize) {
    let mut random = Random::new();
    let delays = random.durations(population, Duration::from_secs(10), Duration::from_secs(3600));
    let mut ids = Vec::with_capacity(population);
    let tally = Tally::new(0);
    let mut peer = P::new();
    let (mut inserting, mut cancelling) = (Duration::ZERO, Duration::ZERO);
    for round in 0..=rounds {
        let (insert, ()) = thread_cpu(|| peer.fill(&delays, &tally, &mut ids));
        assert_eq!((ids.len(), Rc::strong_count(&tally)), (population, population + 1));
        random.shuffle(&mut ids);
        let (cancel, ()) = thread_cpu(|| peer.drain(&mut ids));
        tally.take();
        assert_eq!(Rc::strong_count(&tally), 1, "what was captured has been dropped");
        if round > 0 {
            inserting += insert;
            cancelling += cancel;
        }
    }
    report(INSERT, inserting, population * rounds);
    report(CANCEL, cancelling, population * rounds);
}

/// How far apart the first and the last deadline are.
const SPAN: Duration = Duration::from_millis(20);

/// How long it is at least until the first deadline.
const LEAD: Duration = Duration::from_millis(5);

/// A round sleeps until all timers are due: there are not many rounds.
const ROUNDS: usize = 10;

/// Timers are set, and the loop runs when the last one is due: what is measured is finding, taking out and calling,
/// and no sleep.
pub fn fire<P: Fires>(population: usize, rounds: usize) {
    let rounds = rounds.min(ROUNDS);
    let mut peer = P::new();
    let mut random = Random::new();
    let mut lead = LEAD;
    let mut firing = Duration::ZERO;
    let mut measured = 0;
    // The first round is not measured; it tells how long it takes to set them.
    let mut warm = false;
    while measured < rounds {
        let begin = Instant::now();
        let delays = random.durations(population, lead, lead + SPAN);
        let deadlines: Vec<_> = delays.into_iter().map(|delay| begin + delay).collect();
        let tally = Tally::new(population);
        peer.fill_until(&deadlines, &tally);
        let set = begin.elapsed();
        // A millisecond more, because some round up to one.
        let due = begin + lead + SPAN + Duration::from_millis(2);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let (cpu, ()) = process_cpu(|| peer.run(&tally));
        tally.take();
        assert_eq!(Rc::strong_count(&tally), 1, "what was captured has been dropped");
        // Else some were due while others were set.
        if warm && set <= lead {
            firing += cpu;
            measured += 1;
        }
        warm = true;
        lead = lead.max(2 * set);
    }
    report(FIRE, firing, population * rounds);
}

//! What is counted and measured, on the loop's thread.

use super::depth::Depth;
use super::quantiles::Quantiles;
use super::window::Window;
use super::words::words;
use crate::local::Local;
use crate::{Phase, Queue};

/// What quantiles there are, as numbers: of ticks, of callbacks, of how late timers were, and then of how long
/// entries of each queue waited.
pub(super) const TICK: usize = 0;
pub(super) const RUN: usize = 1;
pub(super) const LATENESS: usize = 2;
pub(super) const WAIT: usize = 3;
pub(super) const LATENCIES: usize = WAIT + Queue::ALL.len();

/// How much longer than usual callbacks that were not measured took together, in nanoseconds, for one of them to be
/// taken for the cause. What takes that long by itself is not usual.
const OUTLIER: i64 = 1_000_000;

/// What is looked at in every tick, and what before every checkpoint that is measured: at other times it is empty.
pub(super) const EACH_TICK: [Queue; 5] =
    [Queue::External, Queue::Internal, Queue::Immediates, Queue::Closes, Queue::Futures];
pub(super) const EACH_CHECKPOINT: [Queue; 2] = [Queue::Microtasks, Queue::NextTicks];

/// Numbers. Durations are in nanoseconds.
///
/// The first two are published more often than the rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) busy: i64,
    pub(super) idle: i64,
    pub(super) ticks: u64,
    pub(super) callbacks: u64,
    pub(super) phase_times: [i64; Phase::ALL.len()],
    pub(super) phase_callbacks: [u64; Phase::ALL.len()],
    pub(super) depths: [Depth; Queue::ALL.len()],
    pub(super) timers: u64,
    pub(super) fds: u64,
    pub(super) futures: u64,
    pub(super) jobs: u64,
    pub(super) wakes_issued: u64,
    /// Those of them that were for an entry that was handed over.
    pub(super) wakes_for_entries: u64,
    pub(super) handed_over: u64,
    pub(super) budget_breaches: u64,
    pub(super) overloads: u64,
    pub(super) panics: u64,
}

words!(Counts:
    busy, idle, ticks, callbacks, phase_times, phase_callbacks, depths, timers, fds, futures, jobs,
    wakes_issued, wakes_for_entries, handed_over, budget_breaches, overloads, panics,
);

/// All figures.
pub(super) struct Figures {
    /// Until when time is accounted for.
    pub(super) last: i64,
    pub(super) counts: Counts,
    pub(super) window: Window,
    pub(super) latencies: [Quantiles; LATENCIES],
    /// How many callbacks took as long as usual, of those that were measured, and how long they took together.
    usual: (u64, i64),
}

impl Figures {
    pub(super) fn new(now: i64) -> Self {
        Self {
            last: now,
            counts: Counts::default(),
            window: Window::new(now),
            latencies: std::array::from_fn(|_| Quantiles::new()),
            usual: (0, 0),
        }
    }

    /// The time that has passed since the last look at the clock was spent on something. Returns how long it was.
    pub(super) fn advance(&mut self, now: i64, is_idle: bool) -> i64 {
        let passed = now - self.last;
        self.last = now;
        let Counts { busy, idle, .. } = &mut self.counts;
        *(if is_idle { idle } else { busy }) += passed;
        passed
    }

    /// Takes a sample in.
    pub(super) fn record(&mut self, latency: usize, nanoseconds: i64) {
        self.latencies[latency].record(nanoseconds.max(0).unsigned_abs());
    }

    /// Looks at how much is in some queues.
    pub(super) fn look(&mut self, local: &Local, queues: &[Queue]) {
        for &queue in queues {
            self.counts.depths[queue as usize].record(local.depth(queue) as u64);
        }
    }

    /// Takes a callback in that was measured.
    pub(super) fn record_run(&mut self, nanoseconds: i64) {
        if nanoseconds < OUTLIER {
            let (callbacks, time) = self.usual;
            self.usual = (callbacks + 1, time + nanoseconds);
        }
        self.record(RUN, nanoseconds);
    }

    /// Takes a callback in that was not measured, if it was long: so many took that time together.
    ///
    /// The mean of all that were taken in does not tell how long they take as usual: each long one is among those, and only
    /// few of the short ones are.
    pub(super) fn record_stretch(&mut self, callbacks: u64, nanoseconds: i64) {
        let (count, time) = self.usual;
        let usual = time as f64 / count.max(1) as f64;
        let excess = nanoseconds - (usual * callbacks as f64) as i64;
        if excess >= OUTLIER {
            self.record(RUN, nanoseconds);
        }
    }

    /// Takes the callbacks in that were run since this was called last.
    pub(super) fn count(&mut self, now: i64, ran: u64) {
        self.window.add(now, ran - self.counts.callbacks);
        self.counts.callbacks = ran;
    }

    /// Takes in what others count.
    pub(super) fn gather(&mut self, local: &Local) {
        let shared = &*local.shared;
        self.count(self.last, local.ran.get());
        for (depth, queue) in self.counts.depths.iter_mut().zip(Queue::ALL.iter().copied()) {
            depth.refresh(local.depth(queue) as u64);
        }
        let counts = &mut self.counts;
        counts.timers = local.timers.len() as u64;
        counts.fds = shared.io.registered() as u64;
        counts.futures = local.futures.len() as u64;
        counts.jobs = shared.workers.busy() as u64;
        counts.wakes_issued = shared.sleep.signals();
        // In this order: what was handed over before it woke the loop is counted.
        counts.wakes_for_entries = shared.sleep.signals_for_entries();
        counts.handed_over = shared.handed_over();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // spec: MX-2
    #[test]
    fn a_long_callback_is_seen_among_those_that_are_not_measured() {
        let mut figures = Figures::new(0);
        let count = |figures: &Figures| figures.latencies[RUN].count();
        (0..1_000).for_each(|_| figures.record_run(500));
        // It does not matter how long others were before it.
        for _ in 0..10 {
            figures.record_run(100 * OUTLIER);
            figures.record_stretch(1_000, 100 * OUTLIER);
        }
        assert_eq!(count(&figures), 1_020);
        figures.record_stretch(1_000, 1_000 * 500 + OUTLIER - 1);
        assert_eq!(count(&figures), 1_020, "some time more, but not enough for a long one");
        figures.record_stretch(1_000, 1_000 * 500 + OUTLIER);
        assert_eq!(count(&figures), 1_021);
    }
}

//! What the system and the loops say about the process, once a second.

use std::fs;
use std::time::{Duration, Instant};

use mainspring::Metrics;

use crate::{heap, ledger};

/// What a process has, as far as the system knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Belongings {
    /// Kibibytes that are resident.
    pub(crate) resident: u64,
    /// Bytes of the heap that are in use.
    pub(crate) heap: i64,
    pub(crate) descriptors: usize,
    pub(crate) threads: u64,
}

impl Belongings {
    pub(crate) fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse().ok()
        };
        // One of them is the directory itself.
        let descriptors = fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() - 1);
        Self {
            resident: field("VmRSS:").unwrap_or(0),
            heap: heap::bytes(),
            descriptors,
            threads: field("Threads:").unwrap_or(0),
        }
    }
}

/// What was so at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Since the beginning of the run.
    pub(crate) time: Duration,
    pub(crate) belongings: Belongings,
    /// Pieces of work that were run so far.
    pub(crate) executed: u64,
    /// The same in each second since the sample before.
    pub(crate) rate: f64,
    /// Of the loops that last, together.
    pub(crate) loops: Loops,
}

/// What the metrics of some loops say, added up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loops {
    pub(crate) ticks: u64,
    pub(crate) callbacks: u64,
    pub(crate) timers: u64,
    pub(crate) registered: u64,
    pub(crate) futures: u64,
    pub(crate) jobs: u64,
    pub(crate) refusals: u64,
    pub(crate) wakes: u64,
    pub(crate) elided: u64,
}

impl Loops {
    pub(crate) fn of(metrics: impl IntoIterator<Item = Metrics>) -> Self {
        metrics.into_iter().fold(Self::default(), |sum, metrics| Self {
            ticks: sum.ticks + metrics.ticks,
            callbacks: sum.callbacks + metrics.callbacks,
            timers: sum.timers + metrics.timers,
            registered: sum.registered + metrics.fds,
            futures: sum.futures + metrics.futures,
            jobs: sum.jobs + metrics.jobs,
            refusals: sum.refusals + metrics.refusals,
            wakes: sum.wakes + metrics.wakes_issued,
            elided: sum.elided + metrics.wakes_elided,
        })
    }
}

/// All samples of a run.
pub(crate) struct Samples {
    begun: Instant,
    all: Vec<Sample>,
}

impl Samples {
    /// With room for so many, so that they do not grow themselves.
    pub(crate) fn new(count: usize) -> Self {
        Self { begun: Instant::now(), all: Vec::with_capacity(count) }
    }

    pub(crate) fn take(&mut self, loops: Loops) -> &Sample {
        let (time, executed) = (self.begun.elapsed(), ledger::executed());
        let (since, before) =
            self.all.last().map_or((Duration::ZERO, 0), |last| (last.time, last.executed));
        let rate = (executed - before) as f64 / (time - since).as_secs_f64().max(1e-3);
        self.all.push(Sample { time, belongings: Belongings::now(), executed, rate, loops });
        self.all.last().expect("one was added")
    }

    pub(crate) fn all(&self) -> &[Sample] {
        &self.all
    }
}

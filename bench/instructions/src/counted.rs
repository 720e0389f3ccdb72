//! The part of a workload that is counted, and the proof that it was done.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often a workload does what it does, unless its name says otherwise.
pub const COUNT: u64 = 1_000;

/// Runs something, and has its instructions counted.
///
/// Callgrind switches its counter on where this function is entered, and off where it is left, in the thread that does
/// so. Hence a name that no compiler changes, and a call that is not inlined.
#[unsafe(no_mangle)]
#[inline(never)]
fn mainspring_counted(work: &mut dyn FnMut()) {
    work();
}

/// [`mainspring_counted`] for something that has a result.
pub fn counted<R>(work: impl FnOnce() -> R) -> R {
    let mut work = Some(work);
    let mut result = None;
    mainspring_counted(&mut || result = work.take().map(|work| work()));
    result.expect("it was run")
}

/// What the callbacks of this process have added up.
static SUM: AtomicU64 = AtomicU64::new(0);

/// What a callback does, and as much as callbacks usually capture: three words.
#[derive(Clone, Copy)]
pub struct Step {
    number: u64,
    _more: [u64; 2],
}

impl Step {
    pub fn new(number: u64) -> Self {
        Self { number, _more: [number; 2] }
    }

    /// The step with the number below, if there is one.
    pub fn next(self) -> Option<Self> {
        (self.number > 1).then(|| Self::new(self.number - 1))
    }

    /// Runs on one thread at a time, so that nothing has to be locked.
    #[inline]
    pub fn run(self) {
        SUM.store(SUM.load(Ordering::Relaxed) + self.number, Ordering::Relaxed);
    }
}

/// Checks that the steps from 1 to `count` were run, once each.
pub fn expect_steps(count: u64) {
    assert_eq!(SUM.load(Ordering::Relaxed), count * (count + 1) / 2);
}

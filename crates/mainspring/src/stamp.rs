//! When something was queued, and by which thread, in one word.

use crate::sync::{AtomicBool, AtomicU64, Ordering};
use crate::sys;

/// The bits of a time that a stamp has room for.
const TIME: u64 = (1 << 48) - 1;

/// Nanoseconds, modulo 2^48, and the number of a thread, in 16 bits. Zero if that was not noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

impl Stamp {
    /// The present time, by a thread.
    pub(crate) fn new(thread: u16) -> Self {
        Self((sys::now() as u64) << 16 | u64::from(thread))
    }

    /// The present time and thread.
    pub(crate) fn here() -> Self {
        Self::new(thread())
    }

    /// The number of the thread.
    pub(crate) fn thread(self) -> u16 {
        self.0 as u16
    }

    pub(crate) fn is_set(self) -> bool {
        self.0 != 0
    }

    /// How long before `now` it was: in less than a day. Not at all if it was after it.
    pub(crate) fn before(self, now: i64) -> u64 {
        let passed = (now as u64).wrapping_sub(self.0 >> 16) & TIME;
        if passed > TIME / 2 { 0 } else { passed }
    }
}

/// When the last signal was sent that ends a sleep, and by which thread, if there is a trace.
#[derive(Debug, Default)]
pub(crate) struct LastSignal {
    is_noted: AtomicBool,
    stamp: AtomicU64,
}

impl LastSignal {
    /// From now on it is noted.
    pub(crate) fn trace(&self) {
        self.is_noted.store(true, Ordering::Relaxed);
    }

    /// One is about to be sent.
    pub(crate) fn note(&self) {
        if self.is_noted.load(Ordering::Relaxed) {
            self.stamp.store(Stamp::here().0, Ordering::Relaxed);
        }
    }

    /// The last one, once.
    pub(crate) fn take(&self) -> Stamp {
        Stamp(self.stamp.swap(0, Ordering::Relaxed))
    }
}

/// The number by which a trace knows this thread.
fn thread() -> u16 {
    #[cfg(not(loom))]
    return crate::tracer::thread_number();
    #[cfg(loom)]
    0
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // spec: MX-2
    #[test]
    fn a_stamp_tells_the_time_and_the_thread_across_the_end_of_its_range() {
        let end = 1_i64 << 48;
        for (then, now) in [(5, 5), (5, 1_000), (end - 1, end + 41), (7 * end + 3, 7 * end + 9)] {
            let stamp = Stamp((then as u64) << 16 | 77);
            assert_eq!(stamp.before(now), (now - then).unsigned_abs());
            assert_eq!(stamp.thread(), 77);
            assert!(stamp.is_set());
        }
        assert!(!Stamp::default().is_set());
    }
}

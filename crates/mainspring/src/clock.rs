//! The loop's time: a monotonic anchor, and how long ago that was when the tick began.
//!
//! This is where a tick gets its time from. Waits for other threads, and the limits of the real waits that
//! the system makes, are in real time on purpose.

use std::time::{Duration, Instant};

use crate::sync::{AtomicU64, Ordering};

/// The cached time of a loop. One thread refreshes it, any thread reads it without tearing.
#[derive(Debug)]
pub(crate) struct Clock {
    anchor: Instant,
    /// Nanoseconds from the anchor to the beginning of the present tick.
    offset: AtomicU64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { anchor: Instant::now(), offset: AtomicU64::new(0) }
    }

    /// Reads the real time.
    #[inline]
    pub(crate) fn read(&self) -> Instant {
        Instant::now()
    }

    /// Caches the real time.
    #[inline]
    pub(crate) fn refresh(&self) {
        self.offset.store(self.number(self.read()), Ordering::Relaxed);
    }

    /// A time as nanoseconds from the anchor.
    #[inline]
    pub(crate) fn number(&self, time: Instant) -> u64 {
        // 2^64 nanoseconds are 584 years.
        time.saturating_duration_since(self.anchor).as_nanos() as u64
    }

    /// The cached time.
    #[inline]
    pub(crate) fn cached(&self) -> Instant {
        self.anchor + Duration::from_nanos(self.offset.load(Ordering::Relaxed))
    }
}

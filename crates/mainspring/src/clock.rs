//! The loop's time: a monotonic anchor, and how long ago that was when the tick began.
//!
//! This is the only place from which time reaches the loop.

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
        let offset = self.read().saturating_duration_since(self.anchor);
        // 2^64 nanoseconds are 584 years.
        self.offset.store(offset.as_nanos() as u64, Ordering::Relaxed);
    }

    /// The cached time.
    #[inline]
    pub(crate) fn cached(&self) -> Instant {
        self.anchor + Duration::from_nanos(self.offset.load(Ordering::Relaxed))
    }
}

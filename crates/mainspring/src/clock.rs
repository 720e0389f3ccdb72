//! The loop's time: nanoseconds of a monotonic clock, as signed 64-bit numbers.
//!
//! This is where a tick and its timers get their time from: the system's clock, or a [`VirtualClock`] in its
//! place. Waits for other threads, such as that of a shutdown, are in real time on purpose.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::VirtualClock;
use crate::simulated;
use crate::sync::{AtomicI64, Ordering};
use crate::sys;

/// One moment on two scales: as exactly as two looks at the clock allow, and the number is not earlier. A time that is given
/// as an `Instant` is therefore never taken for an earlier one.
///
/// Both scales are of the same clock, so one moment is enough for all loops of the process.
static ANCHOR: LazyLock<(Instant, i64)> = LazyLock::new(find_anchor);

fn find_anchor() -> (Instant, i64) {
    let look = || {
        let (instant, number) = (Instant::now(), sys::now());
        (instant.elapsed(), (instant, number))
    };
    // A thread can lose its processor between two looks, but hardly three times.
    [look(), look(), look()].into_iter().min().map_or_else(|| look().1, |(_, moment)| moment)
}

/// A delay in nanoseconds, if it is short enough.
#[inline]
pub(crate) fn nanoseconds(delay: Duration) -> Option<i64> {
    let seconds = i64::try_from(delay.as_secs()).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(i64::from(delay.subsec_nanos()))
}

/// A time as a number, if it can be represented.
pub(crate) fn number(time: Instant) -> Option<i64> {
    let (instant, number) = *ANCHOR;
    match time.checked_duration_since(instant) {
        Some(later) => number.checked_add(nanoseconds(later)?),
        None => {
            let earlier = instant.saturating_duration_since(time);
            number.checked_sub(nanoseconds(earlier)?)
        }
    }
}

/// The present, for waits in real time. Within a simulation there is none but the simulated one.
pub(crate) fn now() -> Instant {
    simulated::now().map_or_else(Instant::now, instant)
}

/// A number as a time.
pub(crate) fn instant(number: i64) -> Instant {
    let (instant, zero) = *ANCHOR;
    let distance = Duration::from_nanos(number.abs_diff(zero));
    if number >= zero { instant + distance } else { instant - distance }
}

/// The present, on both scales.
pub(crate) fn moment() -> (Instant, i64) {
    let number = sys::now();
    (instant(number), number)
}

/// The time of a loop, and the time at which its present tick began. One thread refreshes it, any thread
/// reads it without tearing.
#[derive(Debug)]
pub(crate) struct Clock {
    /// When the present tick began.
    cached: AtomicI64,
    pub(crate) virtual_clock: Option<VirtualClock>,
}

impl Clock {
    pub(crate) fn new(virtual_clock: Option<VirtualClock>) -> Self {
        let now = virtual_clock.as_ref().map_or_else(sys::now, VirtualClock::read);
        Self { cached: AtomicI64::new(now), virtual_clock }
    }

    /// Reads the time.
    #[inline]
    pub(crate) fn read(&self) -> i64 {
        match &self.virtual_clock {
            None => sys::now(),
            Some(clock) => clock.read(),
        }
    }

    /// Caches the time.
    #[inline]
    pub(crate) fn refresh(&self) {
        self.cached.store(self.read(), Ordering::Relaxed);
    }

    /// The cached time.
    #[inline]
    pub(crate) fn cached(&self) -> i64 {
        self.cached.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // spec: TM-1, M1-4.2
    #[test]
    fn times_before_and_after_the_anchor_are_numbers_and_back() {
        let now = Instant::now();
        for distance in [0, 1, 1_000_000_007] {
            for time in [now + Duration::from_nanos(distance), now - Duration::from_nanos(distance)]
            {
                assert_eq!(instant(number(time).unwrap()), time);
            }
        }
    }

    #[test]
    fn a_time_beyond_the_range_has_no_number() {
        let far = Instant::now() + Duration::from_secs(300 * 365 * 24 * 60 * 60);
        assert_eq!(number(far), None);
    }

    // A timer that is set for an `Instant` must not fire before `Instant::now()` says so.
    #[test]
    fn an_instant_is_never_taken_for_an_earlier_time() {
        for _ in 0..1_000 {
            let time = Instant::now();
            let after = sys::now();
            assert!(number(time).unwrap() <= after + 1_000_000, "not far off");
            let before = sys::now();
            assert!(instant(before) <= Instant::now());
            // Whichever moment it would have been.
            let (instant, number) = find_anchor();
            let before = sys::now();
            assert!(number + instant.elapsed().as_nanos() as i64 >= before);
        }
    }
}

//! The monotonic clock.

/// Nanoseconds of the monotonic clock, from an origin that is the same for the whole process.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn now() -> i64 {
    use rustix::time::{ClockId, clock_gettime};

    // 2^63 nanoseconds are 292 years, since the system was started.
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// See above.
#[cfg(not(target_os = "linux"))]
pub(crate) fn now() -> i64 {
    use std::sync::OnceLock;
    use std::time::Instant;

    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as i64
}

/// How much longer than asked for the system lets the current thread wait, in nanoseconds.
#[cfg(all(target_os = "linux", not(loom)))]
pub(crate) fn timer_slack() -> i64 {
    use std::cell::Cell;

    thread_local!(static SLACK: Cell<i64> = const { Cell::new(-1) });
    SLACK.with(|slack| {
        if slack.get() < 0 {
            // Asked once: who changes it later waits a little too long or looks once more than needed.
            let found = rustix::thread::current_timer_slack().unwrap_or(0);
            slack.set(found.try_into().unwrap_or(0));
        }
        slack.get()
    })
}

/// See above.
#[cfg(not(all(target_os = "linux", not(loom))))]
pub(crate) fn timer_slack() -> i64 {
    0
}

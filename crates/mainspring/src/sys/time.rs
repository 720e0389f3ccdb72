//! The monotonic clock.

#[cfg(target_os = "linux")]
use crate::simulated;

/// Nanoseconds of the monotonic clock, from an origin that is the same for the whole process.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn now() -> i64 {
    if let Some(now) = simulated::now() {
        return now;
    }
    // By libc and not by rustix, which looks for the clock in the process's memory by itself, and does not
    // find it under valgrind.
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is that of a `timespec`, and the clock exists on every Linux: the call cannot
    // fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    // 2^63 nanoseconds are 292 years, since the system was started. On 32 bits the fields are smaller.
    #[allow(clippy::useless_conversion)]
    let (seconds, nanoseconds) = (i64::from(now.tv_sec), i64::from(now.tv_nsec));
    seconds * 1_000_000_000 + nanoseconds
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
pub(super) fn timer_slack() -> i64 {
    use std::cell::Cell;

    if simulated::now().is_some() {
        return 0;
    }
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
#[cfg(all(not(target_os = "linux"), not(loom)))]
pub(super) fn timer_slack() -> i64 {
    0
}

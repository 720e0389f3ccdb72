//! A short wait for work before the loop blocks, where it has paid off.
//!
//! Waking a thread that blocks costs microseconds, and tens of them if its core has gone idle; a
//! thread that looks again and again sees new work at once. So the loop looks for a while first. To
//! look in vain costs the same while, so that is done ever more rarely: after the nth failure in a
//! row the next 2^n − 1 sleeps are entered without it. One success makes it worth while again. When
//! traffic stops, the loop looks once at the most, and then blocks.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::Duration;

use crate::clock::nanoseconds;
use crate::sync::spin_loop;
use crate::sys;

/// Sleeps between two attempts, at the most.
const MAX_SKIPS: u32 = 255;

/// Looks between two looks at the clock.
const LOOKS: u32 = 32;

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Spin {
    /// In nanoseconds.
    max: i64,
    /// How many sleeps to enter without an attempt, from now on.
    skip: Cell<u32>,
    /// What `skip` was set to by the last failure.
    backoff: Cell<u32>,
}

impl Spin {
    /// Never spins where it cannot help: with one processor, nobody else can make progress.
    pub(crate) fn new(max: Duration) -> Self {
        let max = if is_alone() || cfg!(loom) { Duration::ZERO } else { max };
        let max = nanoseconds(max).unwrap_or(i64::MAX);
        Self { max, skip: Cell::new(0), backoff: Cell::new(0) }
    }

    /// Waits for `has_work`, for a while but not past `deadline`, or not at all. Tells whether it came
    /// true.
    #[inline]
    pub(crate) fn wait(&self, deadline: Option<i64>, has_work: impl Fn() -> bool) -> bool {
        if self.max == 0 {
            return false;
        }
        if self.skip.get() > 0 {
            self.skip.set(self.skip.get() - 1);
            return false;
        }
        let end = sys::now().saturating_add(self.max).min(deadline.unwrap_or(i64::MAX));
        loop {
            for _ in 0..LOOKS {
                if has_work() {
                    self.backoff.set(0);
                    return true;
                }
                spin_loop();
            }
            if sys::now() >= end {
                let skip = (2 * self.backoff.get() + 1).min(MAX_SKIPS);
                self.backoff.set(skip);
                self.skip.set(skip);
                return false;
            }
        }
    }
}

/// Whether the process has one processor. To which of several a thread is bound does not matter: others
/// may be bound to others.
fn is_alone() -> bool {
    // It takes several system calls to find out, so it is asked once.
    static ALONE: OnceLock<bool> = OnceLock::new();
    *ALONE.get_or_init(|| std::thread::available_parallelism().map_or(true, |n| n.get() == 1))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn attempts(spin: &Spin, sleeps: u32) -> u32 {
        let looked = Cell::new(0);
        for _ in 0..sleeps {
            let before = looked.get();
            spin.wait(None, || {
                looked.set(before + 1);
                false
            });
        }
        looked.get()
    }

    fn spin() -> Spin {
        let mut spin = Spin::new(Duration::from_nanos(1));
        spin.max = 1;
        spin
    }

    #[test]
    fn failures_make_attempts_rare() {
        assert_eq!(attempts(&spin(), 1), 1);
        assert_eq!(attempts(&spin(), 3), 2, "at once, then one skipped");
        assert_eq!(attempts(&spin(), 256 * 100), 8 + 99, "then one in 256");
    }

    #[test]
    fn one_success_makes_it_worth_while_again() {
        let spin = spin();
        attempts(&spin, 1_000);
        while !spin.wait(None, || true) {}
        assert!(spin.wait(None, || true));
        assert_eq!(spin.backoff.get(), 0);
    }

    #[test]
    fn a_maximum_of_zero_switches_it_off() {
        let spin = Spin::new(Duration::ZERO);
        assert!(!spin.wait(None, || unreachable!("does not look")));
    }

    #[test]
    fn an_attempt_ends_at_the_deadline() {
        let mut spin = Spin::new(Duration::ZERO);
        spin.max = i64::MAX;
        assert!(!spin.wait(Some(sys::now()), || false));
    }
}

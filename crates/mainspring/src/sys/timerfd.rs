//! The end of a wait at an exact time, on Linux: a timerfd, which does not pay the timer slack.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::time::{Itimerspec, Timespec};

use super::call::{self, uninterrupted};

/// Not armed.
const NEVER: i64 = i64::MAX;

/// A descriptor that becomes readable when a time has come. It is to be polled edge-triggered: nobody
/// reads it.
///
/// It is armed as rarely as possible: a deadline that is later than what it is armed for is left for when
/// that has passed.
#[derive(Debug)]
pub(crate) struct Timer {
    fd: OwnedFd,
    /// What it is armed for.
    armed: Cell<i64>,
}

// SAFETY: the cell is used by the loop's thread only, in `prepare` and `expire`; the rest is a descriptor.
unsafe impl Sync for Timer {}

impl Timer {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { fd: uninterrupted(call::timerfd)?, armed: Cell::new(NEVER) })
    }

    /// Makes sure that it becomes readable not later than at `deadline`, or not at all without one. For the
    /// loop's thread only.
    #[inline]
    pub(crate) fn prepare(&self, deadline: Option<i64>) -> io::Result<()> {
        let deadline = deadline.unwrap_or(NEVER);
        let is_needed = deadline < self.armed.get();
        let is_superfluous = deadline == NEVER && self.armed.get() != NEVER;
        if is_needed || is_superfluous {
            self.arm(deadline)?;
            self.armed.set(deadline);
        }
        Ok(())
    }

    /// The time that it was armed for has come. For the loop's thread only.
    pub(crate) fn expire(&self) {
        self.armed.set(NEVER);
    }

    fn arm(&self, deadline: i64) -> io::Result<()> {
        // Zero would disarm it; a negative time is an error.
        let at = if deadline == NEVER { 0 } else { deadline.max(1) };
        let it_value = Timespec { tv_sec: at / 1_000_000_000, tv_nsec: at % 1_000_000_000 };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let new = Itimerspec { it_interval, it_value };
        uninterrupted(|| call::settime(&self.fd, &new))
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

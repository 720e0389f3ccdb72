//! A thread that looks whether the loop gets on.
//!
//! While the loop is busy, it looks a few times in each threshold, at the number of callbacks that have begun. If it
//! finds the same number for as long as the threshold, that callback is reported. So the loop has nothing to do
//! for it but to count.
//!
//! While the loop is not busy, the thread sleeps until it is. Falling asleep and becoming busy is a protocol like
//! that of `sleep.rs`: each side says so, has a fence, and looks at what the other has said.

use std::collections::VecDeque;
#[cfg(not(loom))]
use std::time::Duration;

use super::Stall;
use crate::sync::{AtomicBool, Condvar, Mutex, Ordering, fence, lock, wait};

/// How many stalls are kept.
const RECENT: usize = 32;

/// The part that the loop, its handles and the thread share.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    /// Whether the thread sleeps until the loop is busy, or is about to.
    is_asleep: AtomicBool,
    is_over: Mutex<bool>,
    changed: Condvar,
    recent: Mutex<VecDeque<Stall>>,
}

impl Watchdog {
    /// The loop is busy now. That was made visible before.
    #[inline]
    pub(crate) fn rouse(&self) {
        // Partner: the fence in `sleep`.
        fence(Ordering::SeqCst);
        if self.is_asleep.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        // Under the lock, so that the thread does not fall asleep in between.
        let _guard = lock(&self.is_over);
        self.is_asleep.store(false, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Waits until the loop is busy. False if it is over.
    pub(crate) fn sleep(&self, is_busy: impl Fn() -> bool) -> bool {
        let mut is_over = lock(&self.is_over);
        self.is_asleep.store(true, Ordering::Relaxed);
        // Partner: the fence in `rouse`.
        fence(Ordering::SeqCst);
        if is_busy() {
            self.is_asleep.store(false, Ordering::Relaxed);
        }
        while !*is_over && self.is_asleep.load(Ordering::Relaxed) {
            is_over = wait(&self.changed, is_over);
        }
        !*is_over
    }

    /// Waits for a while, or less for no reason. False if it is over.
    #[cfg(not(loom))]
    pub(super) fn wait(&self, time: Duration) -> bool {
        let mut is_over = lock(&self.is_over);
        if !*is_over {
            is_over = crate::sync::wait_timeout(&self.changed, is_over, time);
        }
        !*is_over
    }

    /// The loop has come to its end.
    pub(crate) fn end(&self) {
        *lock(&self.is_over) = true;
        self.changed.notify_all();
    }

    pub(crate) fn recent(&self) -> Vec<Stall> {
        lock(&self.recent).iter().copied().collect()
    }

    #[cfg(not(loom))]
    pub(super) fn keep(&self, stall: Stall) {
        let mut recent = lock(&self.recent);
        match recent.back_mut() {
            Some(last) if last.began == stall.began => *last = stall,
            _ => {
                if recent.len() == RECENT {
                    recent.pop_front();
                }
                recent.push_back(stall);
            }
        }
    }
}

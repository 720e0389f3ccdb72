//! What is known of the end of a loop: until when it runs what is queued, what was left then, and how it went.

use std::time::{Duration, Instant};

use crate::clock;
use crate::sync::{AtomicI64, AtomicUsize, Condvar, Mutex, Ordering, lock, wait, wait_timeout};
use crate::sys;

/// How the end of a loop went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// Callbacks that were dropped instead of being run.
    pub(crate) dropped: usize,
    /// When the last callback had been run.
    pub(crate) at: Instant,
}

/// Reachable from every thread. Who goes through the end, and in which order, is in `shutdown.rs`.
pub(crate) struct End {
    /// When to stop running what is queued, in real time. The greatest number for never.
    deadline: AtomicI64,
    /// What was left when the loop began to drop it. The greatest number before that.
    left: AtomicUsize,
    outcome: Mutex<Option<Outcome>>,
    ended: Condvar,
}

impl End {
    pub(crate) fn new() -> Self {
        Self {
            deadline: AtomicI64::new(i64::MAX),
            left: AtomicUsize::new(usize::MAX),
            outcome: Mutex::new(None),
            ended: Condvar::new(),
        }
    }

    /// Makes the deadline earlier.
    pub(crate) fn set_deadline(&self, deadline: Instant) {
        let left = deadline.saturating_duration_since(clock::now()).as_nanos();
        let deadline = sys::now().saturating_add(i64::try_from(left).unwrap_or(i64::MAX));
        self.deadline.fetch_min(deadline, Ordering::Relaxed);
    }

    /// How long it is until the deadline. None if there is none.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let deadline = self.deadline.load(Ordering::Relaxed);
        let left = u64::try_from(deadline.saturating_sub(sys::now())).unwrap_or(0);
        (deadline != i64::MAX).then(|| Duration::from_nanos(left))
    }

    /// Whether the deadline has passed.
    pub(crate) fn is_late(&self) -> bool {
        let deadline = self.deadline.load(Ordering::Relaxed);
        deadline != i64::MAX && deadline <= sys::now()
    }

    /// What was left when the loop began to drop it, or, if it has not, what is left `now`. That is counted before.
    pub(crate) fn left(&self, now: usize) -> usize {
        // In this order: if nothing was dropped until here, the number is the one before.
        match self.left.load(Ordering::Acquire) {
            usize::MAX => now,
            left => left,
        }
    }

    /// The loop begins to drop what is left: that is so many.
    pub(crate) fn note_left(&self, left: usize) {
        // Release: the partner is the Acquire in `left`. Who sees less than there was sees this.
        self.left.store(left, Ordering::Release);
    }

    /// The last step of termination.
    pub(crate) fn complete(&self, outcome: Outcome) {
        *lock(&self.outcome) = Some(outcome);
        self.ended.notify_all();
    }

    /// Whether the last step of termination was made.
    pub(crate) fn has_completed(&self) -> bool {
        lock(&self.outcome).is_some()
    }

    /// Waits for the last step of termination, until `deadline`.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Option<Outcome> {
        let mut outcome = lock(&self.outcome);
        while outcome.is_none() {
            outcome = match deadline {
                None => wait(&self.ended, outcome),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(clock::now());
                    if left.is_zero() {
                        break;
                    }
                    wait_timeout(&self.ended, outcome, left)
                }
            };
        }
        *outcome
    }
}

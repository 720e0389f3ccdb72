//! Blocking on the thread's own token.

use crate::sync::thread::{self, Thread};

/// Parks the thread that made it; any thread can end that.
///
/// The token may also be set or used up by other code on the same thread. That is harmless: one that
/// is set for no reason ends a sleep early, and one can be used up by others only while the loop is
/// not asleep, when it has no meaning.
#[derive(Debug)]
pub(crate) struct Parker(Thread);

impl Parker {
    /// For the current thread.
    pub(crate) fn new() -> Self {
        Self(thread::current())
    }

    /// Ends the park that is under way, or the next one.
    pub(crate) fn unpark(&self) {
        self.0.unpark();
    }

    /// Blocks the current thread, which is the one that made this, until about `deadline`.
    ///
    /// The system adds its timer slack to every wait of a thread, so that many threads can be woken at
    /// once. The wait is shorter by that; should it end early, the caller waits again.
    #[cfg(not(loom))]
    pub(crate) fn park(&self, deadline: Option<i64>) {
        use std::time::Duration;

        let Some(deadline) = deadline else { return thread::park() };
        let left = deadline.saturating_sub(super::now());
        if left > 0 {
            let asked = left.saturating_sub(super::time::timer_slack()).max(1);
            thread::park_timeout(Duration::from_nanos(asked.unsigned_abs()));
        }
    }

    /// Under loom time does not pass.
    #[cfg(loom)]
    pub(crate) fn park(&self, _deadline: Option<i64>) {
        thread::park();
    }
}

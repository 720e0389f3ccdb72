//! Blocking on the thread's own token.

use std::time::Instant;

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

    /// Blocks the current thread, which is the one that made this.
    #[cfg(not(loom))]
    pub(crate) fn park(&self, deadline: Option<Instant>) {
        match deadline {
            None => thread::park(),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if !left.is_zero() {
                    thread::park_timeout(left);
                }
            }
        }
    }

    /// Under loom time does not pass.
    #[cfg(loom)]
    pub(crate) fn park(&self, _deadline: Option<Instant>) {
        thread::park();
    }
}

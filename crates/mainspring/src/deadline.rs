//! When a wait for a loop ends.

use std::time::{Duration, Instant};

use crate::clock;

/// When to stop waiting for a shutdown. See [`Handle::shutdown`](crate::Handle::shutdown).
///
/// ```
/// use mainspring::Deadline;
/// use std::time::{Duration, Instant};
///
/// let in_a_second: Deadline = Duration::from_secs(1).into();
/// let at_a_time: Deadline = Instant::now().into();
/// let never = Deadline::NEVER;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deadline(pub(crate) Option<Instant>);

impl Deadline {
    /// Wait for as long as it takes.
    ///
    /// ```
    /// use mainspring::{Deadline, EventLoop};
    ///
    /// EventLoop::new()?.handle().shutdown(Deadline::NEVER)?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub const NEVER: Self = Self(None);

    pub(crate) fn has_passed(self) -> bool {
        self.0.is_some_and(|deadline| deadline <= clock::now())
    }
}

impl From<Instant> for Deadline {
    fn from(instant: Instant) -> Self {
        Self(Some(instant))
    }
}

impl From<Duration> for Deadline {
    /// From now. A time too far away to be represented is never.
    fn from(duration: Duration) -> Self {
        Self(clock::now().checked_add(duration))
    }
}

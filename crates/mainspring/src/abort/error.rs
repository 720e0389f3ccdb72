//! The reasons that signals are aborted with if no other one is given.

use std::{error, fmt};

/// The reason of a signal that was aborted without one.
///
/// ```
/// use mainspring::{AbortError, AbortController};
///
/// let controller = AbortController::new();
/// controller.abort();
/// assert!(controller.signal().reason().unwrap().is::<AbortError>());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AbortError;

impl fmt::Display for AbortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operation was aborted")
    }
}

impl error::Error for AbortError {}

/// The reason of a signal that was aborted because its time had come.
///
/// ```
/// use mainspring::{AbortSignal, EventLoop, TimeoutError, VirtualClock};
/// use std::time::Duration;
///
/// let clock = VirtualClock::new();
/// let event_loop = EventLoop::builder().clock(&clock).build()?;
/// let signal = AbortSignal::timeout(event_loop.cx(), Duration::from_secs(5))?;
/// clock.advance(Duration::from_secs(5));
/// event_loop.turn(Duration::ZERO)?;
/// assert!(signal.reason().unwrap().is::<TimeoutError>());
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TimeoutError;

impl fmt::Display for TimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operation was aborted because its time had come")
    }
}

impl error::Error for TimeoutError {}

/// The kind is [`TimedOut`](std::io::ErrorKind::TimedOut).
impl From<TimeoutError> for std::io::Error {
    fn from(error: TimeoutError) -> Self {
        Self::new(std::io::ErrorKind::TimedOut, error)
    }
}

//! How far a promise is, and why waiting for one failed.

use std::fmt;

use super::Rejection;

/// How far a promise is.
///
/// ```
/// use mainspring::{EventLoop, LocalPromise, PromiseState};
///
/// let event_loop = EventLoop::new()?;
/// assert_eq!(LocalPromise::resolve(event_loop.cx(), 1).state(), PromiseState::Fulfilled);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PromiseState {
    /// It has not settled. It may have been resolved with another promise that has not.
    Pending,
    /// It has a value.
    Fulfilled,
    /// It has a reason instead.
    Rejected,
}

/// Why [`Promise::wait`](crate::Promise::wait) has no value.
///
/// ```
/// use mainspring::{EventLoop, Promise, WaitError};
/// use std::time::Duration;
///
/// let event_loop = EventLoop::new()?;
/// let promise = Promise::resolve(&event_loop.handle(), 5);
/// assert!(matches!(promise.wait(Duration::ZERO), Err(WaitError::OnLoopThread)));
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WaitError {
    /// The promise was rejected.
    Rejected(Rejection),
    /// The time has passed.
    TimedOut,
    /// The loop's own thread cannot wait: it is the one that runs what is waited for.
    OnLoopThread,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(reason) => write!(f, "the promise was rejected: {reason}"),
            Self::TimedOut => f.write_str("the promise is still pending; wait longer"),
            Self::OnLoopThread => f.write_str(
                "the loop's own thread cannot wait for a promise; attach a handler instead",
            ),
        }
    }
}

impl std::error::Error for WaitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Rejected(reason) => Some(reason.as_error()),
            _ => None,
        }
    }
}

//! Callbacks that run for too long.

#[cfg(not(loom))]
mod thread;
#[cfg(not(loom))]
mod watch;
mod watchdog;

#[cfg(not(loom))]
pub(crate) use self::thread::start;
pub(crate) use self::watchdog::Watchdog;

use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};

use crate::Phase;

/// A loop, as its watchdog sees it.
pub(crate) trait Pulse: Send + Sync + 'static {
    /// The number of what the loop does, be it a callback or not. None if the loop is not busy.
    fn beat(&self) -> Option<u64>;

    /// The phase of what has that number and, if it is a callback, where it was scheduled. None if something else was done
    /// meanwhile.
    fn present(&self, beat: u64) -> Option<(Phase, Option<&'static Location<'static>>)>;

    /// There is one stall more.
    fn count_stall(&self);
}

/// What is called with each stall, by the watchdog's thread.
pub(crate) type Hook = Box<dyn FnMut(&Stall) + Send>;

/// A callback that has run for longer than the [threshold](crate::Builder::stall_threshold).
///
/// ```
/// use mainspring::EventLoop;
/// use std::time::Duration;
///
/// let event_loop = EventLoop::builder()
///     .stall_threshold(Duration::from_millis(50))
///     .on_stall(|stall| eprintln!("{stall}"))
///     .build()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stall {
    /// Where in the tick the callback runs.
    pub phase: Phase,
    /// Where it was scheduled, if that is known. What runs between two callbacks, such as the destructor of one that
    /// another thread has cleared, was scheduled nowhere.
    pub place: Option<&'static Location<'static>>,
    /// When it began, or up to a quarter of the threshold after that.
    pub began: Instant,
    /// How long it has run since, or did run, to about as much.
    pub duration: Duration,
    /// Whether it has returned since.
    pub is_over: bool,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (phase, duration) = (self.phase, self.duration);
        let verb = if self.is_over { "ran for" } else { "has been running for" };
        write!(f, "a callback of phase `{phase}` {verb} {duration:.1?}")?;
        match self.place {
            Some(place) => write!(f, ", scheduled at {place}"),
            None => Ok(()),
        }
    }
}

//! What keeps a loop from becoming idle.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use crate::{Interest, TimerId};

/// A queue of a loop.
///
/// ```
/// use mainspring::Queue;
///
/// assert_eq!(Queue::NextTicks.to_string(), "next ticks");
/// assert_eq!(Queue::ALL.len(), 7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Queue {
    /// Tasks that were submitted.
    External,
    /// Tasks of the internal lane.
    Internal,
    /// Microtasks.
    Microtasks,
    /// What `next_tick` has queued.
    NextTicks,
    /// Immediates.
    Immediates,
    /// Close callbacks.
    Closes,
    /// Futures that were woken, and were not polled since.
    Futures,
}

impl Queue {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::External,
        Self::Internal,
        Self::Microtasks,
        Self::NextTicks,
        Self::Immediates,
        Self::Closes,
        Self::Futures,
    ];
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::External => "external",
            Self::Internal => "internal",
            Self::Microtasks => "microtasks",
            Self::NextTicks => "next ticks",
            Self::Immediates => "immediates",
            Self::Closes => "closes",
            Self::Futures => "futures",
        })
    }
}

/// Why [`run_until_idle`](crate::EventLoop::run_until_idle) does not return: the answer of
/// [`Cx::why_alive`](crate::Cx::why_alive).
///
/// ```
/// use mainspring::EventLoop;
/// use std::time::Duration;
///
/// let event_loop = EventLoop::builder().metrics(true).build()?;
/// event_loop.cx().set_timeout(Duration::from_secs(60), |_| ())?;
/// let why = event_loop.cx().why_alive();
/// assert_eq!(why.reasons.len(), 1);
/// println!("{why}"); // a timer due in 60 s, set at src/main.rs:5:17
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WhyAlive {
    /// Each by itself. Without any, the loop is idle.
    pub reasons: Vec<Reason>,
}

/// One thing that keeps a loop from becoming idle.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Reason {
    /// What it is.
    pub cause: Cause,
    /// Where it was made, if the loop was told to [note that](crate::Builder::metrics).
    pub place: Option<&'static Location<'static>>,
    /// The type of its callback or future, if it is known, which has the name of the function around it.
    pub name: Option<&'static str>,
}

/// What keeps a loop from becoming idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A timer that is referenced.
    Timer {
        /// Which.
        id: TimerId,
        /// How long it is until it is due.
        due_in: Duration,
        /// Whether it is an interval.
        repeats: bool,
    },
    /// A descriptor that is registered and referenced.
    Descriptor {
        /// Its number.
        fd: i32,
        /// What it is watched for.
        interest: Interest,
    },
    /// A function on a worker, or one that waits for a worker.
    Job,
    /// A future that is not done.
    Future,
    /// A [guard](crate::Handle::keep_alive).
    KeepAlive,
    /// Callbacks that are queued.
    Queued {
        /// Where.
        queue: Queue,
        /// How many.
        count: usize,
    },
}

impl fmt::Display for WhyAlive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, reason) in self.reasons.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            reason.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.cause)
    }
}

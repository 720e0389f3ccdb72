//! The phases of a tick, and the queues that they take from.

use std::fmt;

/// Where in a tick a callback was run.
///
/// ```
/// use mainspring::Phase;
///
/// assert_eq!(Phase::Microtasks.to_string(), "microtasks");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Due timers.
    Timers,
    /// The internal lane.
    Internal,
    /// Futures that were woken.
    Futures,
    /// The external lane.
    External,
    /// The `next_tick` queue.
    NextTicks,
    /// The microtask queue.
    Microtasks,
    /// Callbacks of descriptors.
    Io,
    /// Immediates.
    Check,
    /// Close callbacks.
    Close,
    /// A hook of the embedder.
    Hook,
}

impl Phase {
    /// All of them.
    ///
    /// ```
    /// use mainspring::Phase;
    ///
    /// assert_eq!(Phase::ALL[0], Phase::Timers);
    /// ```
    pub const ALL: &'static [Self] = &[
        Self::Timers,
        Self::Internal,
        Self::Futures,
        Self::External,
        Self::NextTicks,
        Self::Microtasks,
        Self::Io,
        Self::Check,
        Self::Close,
        Self::Hook,
    ];
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timers => "timers",
            Self::Internal => "internal",
            Self::Futures => "futures",
            Self::External => "external",
            Self::NextTicks => "next ticks",
            Self::Microtasks => "microtasks",
            Self::Io => "i/o",
            Self::Check => "check",
            Self::Close => "close",
            Self::Hook => "hook",
        })
    }
}

/// A queue of a loop.
///
/// ```
/// use mainspring::Queue;
///
/// assert_eq!(Queue::NextTicks.to_string(), "next ticks");
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
    ///
    /// ```
    /// use mainspring::Queue;
    ///
    /// assert!(Queue::ALL.contains(&Queue::Microtasks));
    /// ```
    pub const ALL: &'static [Self] = &[
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

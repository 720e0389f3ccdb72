//! What can go wrong, and what is handed back then.

use std::{fmt, io};

/// Everything that an operation of this crate can fail with.
///
/// ```
/// use mainspring::{Error, EventLoop};
///
/// let event_loop = EventLoop::new()?;
/// event_loop.cx().shutdown();
/// assert!(matches!(event_loop.run(), Err(Error::Terminated)));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Another call drives the loop already.
    AlreadyRunning,
    /// The loop has terminated, or has begun to.
    Terminated,
    /// The external lane is at its high-water mark.
    Overloaded,
    /// A callback of the loop tried to drive it, or to wait for it.
    ReentrantRun,
    /// No loop is being driven on this thread.
    NotRunning,
    /// No such timer is alive.
    TimerNotFound,
    /// No such immediate is queued.
    ImmediateNotFound,
    /// All timer ids have been used, or are in use.
    TimerIdExhausted,
    /// The deadline cannot be represented.
    DeadlineOutOfRange,
    /// The descriptor is registered already.
    FdAlreadyRegistered,
    /// The descriptor is not registered.
    FdNotRegistered,
    /// The poller was closed.
    PollerClosed,
    /// The fast path was forced while descriptors are registered, or the reverse.
    FastPathIncompatible,
    /// The resolver of a promise was dropped before it had been used.
    PromiseAbandoned,
    /// A promise was resolved with itself.
    PromiseCycle,
    /// An option of the builder has a value that makes no sense.
    InvalidOption {
        /// The builder's method.
        option: &'static str,
        /// What it accepts.
        expected: &'static str,
    },
    /// The deadline of a shutdown passed with work left.
    DeadlineExceeded {
        /// How many callbacks were queued then; of a [`LoopGroup`](crate::LoopGroup), how many loops had something
        /// left. It is dropped without being run.
        left: usize,
    },
    /// The operating system refused.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::AlreadyRunning => "the loop is being driven already; wait for that to return",
            Self::Terminated => {
                "the loop has terminated or has begun to; to go on, build a new one"
            }
            Self::Overloaded => {
                "the external lane is at its high-water mark; try again later or raise the mark"
            }
            Self::ReentrantRun => {
                "a callback cannot drive or wait for its own loop; queue a task and return instead"
            }
            Self::NotRunning => {
                "no loop is being driven on this thread; call this from a callback of one"
            }
            Self::TimerNotFound => "no such timer is alive",
            Self::ImmediateNotFound => "no such immediate is queued",
            Self::TimerIdExhausted => {
                "all timer ids are in use or used up; clear timers, or build a new loop"
            }
            Self::DeadlineOutOfRange => {
                "the deadline is more than 292 years away; choose an earlier one"
            }
            Self::FdAlreadyRegistered => {
                "the descriptor is registered already; modify or unregister it first"
            }
            Self::FdNotRegistered => "the descriptor is not registered",
            Self::PollerClosed => "the poller was closed, because the loop has terminated",
            Self::FastPathIncompatible => {
                "the fast path cannot be forced together with registered descriptors; \
                 unregister them or use the automatic mode"
            }
            Self::PromiseAbandoned => {
                "the resolver of the promise was dropped; keep it until it has been used"
            }
            Self::PromiseCycle => "a promise was resolved with itself; resolve it with another one",
            Self::InvalidOption { option, expected } => {
                return write!(f, "the option `{option}` must be {expected}");
            }
            Self::DeadlineExceeded { left } => {
                return write!(
                    f,
                    "the deadline of the shutdown passed with {left} left, which are dropped; \
                     give it more time to run them"
                );
            }
            Self::Io(error) => return write!(f, "the operating system refused: {error}"),
        };
        f.write_str(text)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// For code that speaks of [`io::Error`] only, as what reads and writes does. An [`Error::Io`] is what it was;
/// any other is inside of one, where [`io::Error::get_ref`] finds it.
///
/// ```
/// use mainspring::Error;
/// use std::io;
///
/// let error = io::Error::from(Error::Terminated);
/// let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
/// assert!(matches!(inner, Some(Error::Terminated)));
/// ```
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) => error,
            error => Self::other(error),
        }
    }
}

/// Why a task was refused.
///
/// ```
/// use mainspring::{EventLoop, Refusal};
///
/// let event_loop = EventLoop::builder().high_water_mark(1).build()?;
/// event_loop.handle().submit(|_| ())?;
/// let error = event_loop.handle().submit(|_| ()).unwrap_err();
/// assert_eq!(error.reason(), Refusal::Overloaded);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The external lane is at its high-water mark.
    Overloaded,
    /// The loop has terminated or, for external tasks and timers, begun to.
    Terminated,
    /// The deadline of a timer cannot be represented.
    DeadlineOutOfRange,
    /// All timer ids have been used, or are in use.
    TimerIdExhausted,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Overloaded => Self::Overloaded,
            Refusal::Terminated => Self::Terminated,
            Refusal::DeadlineOutOfRange => Self::DeadlineOutOfRange,
            Refusal::TimerIdExhausted => Self::TimerIdExhausted,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Error::from(*self).fmt(f)
    }
}

/// A task that was refused, with the reason.
///
/// ```
/// use mainspring::EventLoop;
///
/// let handle = EventLoop::new()?.handle(); // the loop itself is dropped here
/// let error = handle.submit(|_| println!("never")).unwrap_err();
/// let task = error.into_task(); // run it elsewhere, or try again later
/// # drop(task);
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct SubmitError<F> {
    reason: Refusal,
    task: F,
}

impl<F> SubmitError<F> {
    pub(crate) fn new(reason: Refusal, task: F) -> Self {
        Self { reason, task }
    }

    /// Why the task was refused.
    ///
    /// ```
    /// use mainspring::{EventLoop, Refusal};
    ///
    /// let handle = EventLoop::new()?.handle();
    /// assert_eq!(handle.submit(|_| ()).unwrap_err().reason(), Refusal::Terminated);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn reason(&self) -> Refusal {
        self.reason
    }

    /// Gives the task back.
    ///
    /// ```
    /// use mainspring::EventLoop;
    ///
    /// let handle = EventLoop::new()?.handle();
    /// let task = handle.submit(|_| ()).unwrap_err().into_task();
    /// # drop(task);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn into_task(self) -> F {
        self.task
    }
}

impl<F> fmt::Debug for SubmitError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubmitError").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<F> fmt::Display for SubmitError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<F> std::error::Error for SubmitError<F> {}

impl<F> From<SubmitError<F>> for Error {
    fn from(error: SubmitError<F>) -> Self {
        error.reason.into()
    }
}

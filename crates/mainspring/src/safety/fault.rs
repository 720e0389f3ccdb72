//! What went wrong, with all that is known about it.

use std::backtrace::Backtrace;
use std::fmt;

use crate::Phase;

/// What kind of fault it is.
///
/// ```
/// use mainspring::{EventLoop, FaultKind, Profile};
///
/// let event_loop = EventLoop::builder()
///     .profile(Profile::MaximumSafety)
///     .on_fault(|fault| assert_eq!(fault.kind(), FaultKind::Panic))
///     .build()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// A call failed, and its caller was told.
    Error,
    /// A callback panicked.
    Panic,
    /// An invariant of the loop itself is broken. The loop panics after this is told.
    Violation,
}

/// What went wrong in a loop of [`Profile::MaximumSafety`](crate::Profile::MaximumSafety). See
/// [`Builder::on_fault`](crate::Builder::on_fault).
///
/// ```
/// use mainspring::{EventLoop, Profile};
///
/// let event_loop = EventLoop::builder()
///     .profile(Profile::MaximumSafety)
///     .on_fault(|fault| {
///         assert_eq!(fault.operation(), "run a callback");
///         assert_eq!(fault.cause(), "oh");
///         assert!(fault.task().is_some() && fault.backtrace().is_some());
///     })
///     .on_uncaught(|_, _| ())
///     .build()?;
/// event_loop.cx().submit(|_| panic!("oh"))?;
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Debug)]
pub struct Fault {
    pub(super) kind: FaultKind,
    pub(super) operation: &'static str,
    pub(super) phase: Option<Phase>,
    pub(super) task: Option<u64>,
    /// What is known about the task.
    pub(super) described: Option<String>,
    pub(super) loop_id: u64,
    pub(super) cause: String,
    pub(super) backtrace: Option<Backtrace>,
}

impl Fault {
    /// What kind of fault it is.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder().profile(mainspring::Profile::MaximumSafety)
    /// .on_fault(|fault| eprintln!("{:?}", fault.kind()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        self.kind
    }

    /// What was being done: `submit`, `run a callback`, `take a task` and so on.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder().profile(mainspring::Profile::MaximumSafety)
    /// .on_fault(|fault| eprintln!("{} failed", fault.operation()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// The phase that the loop was in. None if it happened on another thread.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder().profile(mainspring::Profile::MaximumSafety)
    /// .on_fault(|fault| eprintln!("in phase {:?}", fault.phase()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn phase(&self) -> Option<Phase> {
        self.phase
    }

    /// The number of the task, if it has to do with one.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder().profile(mainspring::Profile::MaximumSafety)
    /// .on_fault(|fault| eprintln!("task {:?}", fault.task()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn task(&self) -> Option<u64> {
        self.task
    }

    /// The [number](crate::Handle::id) of the loop.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder().profile(mainspring::Profile::MaximumSafety)
    /// .on_fault(|fault| eprintln!("loop {}", fault.loop_id()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn loop_id(&self) -> u64 {
        self.loop_id
    }

    /// The message of the error or of the panic, or which invariant is broken.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder().profile(mainspring::Profile::MaximumSafety)
    /// .on_fault(|fault| eprintln!("{}", fault.cause()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn cause(&self) -> &str {
        &self.cause
    }

    /// Where it happened, for panics and violations.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder().profile(mainspring::Profile::MaximumSafety)
    /// .on_fault(|fault| eprintln!("{:?}", fault.backtrace()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn backtrace(&self) -> Option<&Backtrace> {
        self.backtrace.as_ref()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            FaultKind::Error => "a call failed",
            FaultKind::Panic => "a callback panicked",
            FaultKind::Violation => "an invariant of the loop is broken",
        })?;
        write!(f, ": {} (operation: {}, phase: ", self.cause, self.operation)?;
        match self.phase {
            Some(phase) => write!(f, "{phase}")?,
            None => f.write_str("none, on another thread")?,
        }
        match (self.task, &self.described) {
            (Some(task), Some(described)) => write!(f, ", task: {task}, {described}")?,
            (Some(task), None) => write!(f, ", task: {task}")?,
            (None, _) => f.write_str(", task: none")?,
        }
        write!(f, ", loop: {})", self.loop_id)
    }
}

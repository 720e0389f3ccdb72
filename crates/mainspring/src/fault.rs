//! Panics in callbacks.

use std::any::Any;
use std::backtrace::Backtrace;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Phase;

/// What the loop does with a panic of a callback.
///
/// ```
/// use mainspring::{EventLoop, PanicPolicy};
///
/// let event_loop = EventLoop::builder().panic_policy(PanicPolicy::Propagate).build()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PanicPolicy {
    /// Report it to the [uncaught hook](crate::Builder::on_uncaught) and go on.
    #[default]
    Isolate,
    /// Let it leave the call that drives the loop. The loop stays consistent: driven again, it goes
    /// on with the callback after the one that panicked.
    Propagate,
}

/// A panic that left a callback.
///
/// ```
/// use mainspring::EventLoop;
///
/// let event_loop = EventLoop::builder()
///     .on_uncaught(|cx, panic| {
///         eprintln!("{panic}");
///         cx.shutdown();
///     })
///     .build()?;
/// event_loop.cx().submit(|_| panic!("oh"))?;
/// event_loop.run()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct UncaughtPanic {
    phase: Phase,
    payload: Box<dyn Any + Send>,
    loop_id: u64,
    details: Option<Details>,
}

/// What the maximum-safety profile knows about a panic.
#[derive(Debug)]
pub(crate) struct Details {
    pub(crate) task: Option<u64>,
    pub(crate) backtrace: Option<Backtrace>,
}

impl UncaughtPanic {
    pub(crate) fn new(
        phase: Phase,
        payload: Box<dyn Any + Send>,
        loop_id: u64,
        details: Option<Details>,
    ) -> Self {
        Self { phase, payload, loop_id, details }
    }

    /// The [number](crate::Handle::id) of the loop.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder()
    /// .on_uncaught(|_, panic| eprintln!("in loop {}", panic.loop_id()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn loop_id(&self) -> u64 {
        self.loop_id
    }

    /// The number of the task, if it was one, and in [`Profile::MaximumSafety`](crate::Profile::MaximumSafety) only.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder()
    /// .on_uncaught(|_, panic| eprintln!("task {:?}", panic.task()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn task(&self) -> Option<u64> {
        self.details.as_ref()?.task
    }

    /// Where it happened, in [`Profile::MaximumSafety`](crate::Profile::MaximumSafety) only.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder()
    /// .on_uncaught(|_, panic| eprintln!("{:?}", panic.backtrace()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn backtrace(&self) -> Option<&Backtrace> {
        self.details.as_ref()?.backtrace.as_ref()
    }

    /// Where in the tick it happened.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder()
    /// .on_uncaught(|_, panic| eprintln!("in phase {}", panic.phase()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The message, if the payload is one.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder()
    /// .on_uncaught(|_, panic| eprintln!("{}", panic.message().unwrap_or("no message")))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        as_text(&*self.payload)
    }

    /// What the callback panicked with.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder()
    /// .on_uncaught(|_, panic| std::panic::resume_unwind(panic.into_payload()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.payload
    }
}

impl fmt::Debug for UncaughtPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UncaughtPanic")
            .field("phase", &self.phase)
            .field("message", &self.message())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for UncaughtPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message().unwrap_or("(a payload that is not text)");
        write!(f, "a callback of phase `{}` panicked: {message}", self.phase)
    }
}

/// The text that a value is, if it is one: that of a panic, for example.
pub(crate) fn as_text(value: &dyn Any) -> Option<&str> {
    match value.downcast_ref::<&'static str>() {
        Some(text) => Some(text),
        None => value.downcast_ref::<String>().map(String::as_str),
    }
}

/// Drops a value of the user. A destructor that panics does not get further than this.
pub(crate) fn drop_isolated<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        discard(payload);
        log_isolated(|| tracing::error!("a destructor of a dropped value panicked"));
    }
}

/// Logs something. Whoever receives it is code of the user, and a panic of that does not get further
/// than this.
pub(crate) fn log_isolated(log: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(log)) {
        discard(payload);
    }
}

/// Drops what somebody panicked with. Its destructor might panic, too; what it panics with in turn is left
/// where it is, since that might go on for ever.
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(payload);
    }
}

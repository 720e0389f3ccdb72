//! The reason of a promise whose handler or worker panicked.

use std::any::Any;
use std::fmt;

use crate::fault::as_text;
use crate::sync::{Mutex, lock};

/// A handler or a worker panicked instead of giving a result.
///
/// ```
/// use mainspring::{EventLoop, LocalPromise, Panicked};
///
/// let event_loop = EventLoop::builder().on_uncaught(|_, _| ()).build()?;
/// LocalPromise::resolve(event_loop.cx(), 5)
///     .then(|_, _| -> i32 { panic!("oh") })
///     .catch(|_, reason| {
///         assert_eq!(reason.downcast_ref::<Panicked>().unwrap().message(), Some("oh"));
///         0
///     });
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct Panicked {
    is_reported: bool,
    message: Option<Box<str>>,
    payload: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Panicked {
    /// With the payload.
    pub(crate) fn new(payload: Box<dyn Any + Send>) -> Self {
        Self {
            is_reported: false,
            message: as_text(&*payload).map(Box::from),
            payload: Mutex::new(Some(payload)),
        }
    }

    /// Without the payload, which goes elsewhere.
    pub(crate) fn reported(payload: &(dyn Any + Send)) -> Self {
        Self {
            is_reported: true,
            message: as_text(payload).map(Box::from),
            payload: Mutex::new(None),
        }
    }

    /// Whether the panic was reported to the uncaught hook.
    pub(super) fn was_reported(&self) -> bool {
        self.is_reported
    }

    /// The message, if the payload was one.
    ///
    /// ```
    /// use mainspring::{EventLoop, LocalPromise, Panicked};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let promise = LocalPromise::try_(event_loop.cx(), || -> Result<(), std::fmt::Error> { panic!("oh") });
    /// promise.catch(|_, reason| {
    ///     assert_eq!(reason.downcast_ref::<Panicked>().unwrap().message(), Some("oh"));
    /// });
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// What it panicked with, for the first who asks. The payload of a handler's panic goes to the
    /// [uncaught hook](crate::Builder::on_uncaught) instead.
    ///
    /// ```
    /// use mainspring::{EventLoop, LocalPromise, Panicked};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let promise = LocalPromise::try_(event_loop.cx(), || -> Result<(), std::fmt::Error> {
    ///     std::panic::panic_any(5)
    /// });
    /// promise.catch(|_, reason| {
    ///     let payload = reason.downcast_ref::<Panicked>().unwrap().take_payload().unwrap();
    ///     assert_eq!(payload.downcast_ref(), Some(&5));
    /// });
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn take_payload(&self) -> Option<Box<dyn Any + Send>> {
        lock(&self.payload).take()
    }
}

impl fmt::Debug for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Panicked").field("message", &self.message()).finish_non_exhaustive()
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it panicked: {}", self.message().unwrap_or("(a payload that is not text)"))
    }
}

impl std::error::Error for Panicked {}

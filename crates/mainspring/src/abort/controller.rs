//! What aborts a signal.

use std::fmt;
use std::sync::Arc;

use super::core::{Core, Origin};
use super::signal::AbortSignal;
use crate::{AbortError, Rejection};

/// Aborts a signal, from any thread.
///
/// Dropping the controller aborts nothing. Its signal can not be aborted any more then, so the listeners
/// that wait for it are dropped.
///
/// ```
/// use mainspring::AbortController;
///
/// let controller = AbortController::new();
/// let signal = controller.signal();
/// let worker = std::thread::spawn(move || {
///     while !signal.aborted() {
///         std::thread::yield_now(); // or do a bit of work
///     }
/// });
/// controller.abort();
/// worker.join().unwrap();
/// ```
pub struct AbortController(Arc<Core>);

impl AbortController {
    /// A controller with a signal that is not aborted.
    ///
    /// ```
    /// let controller = mainspring::AbortController::new();
    /// assert!(!controller.signal().aborted());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self(Core::new(Origin::Controller))
    }

    /// The signal. It is the same one each time.
    ///
    /// ```
    /// let controller = mainspring::AbortController::new();
    /// assert_eq!(controller.signal(), controller.signal());
    /// ```
    #[must_use]
    pub fn signal(&self) -> AbortSignal {
        AbortSignal(Some(Arc::clone(&self.0)))
    }

    /// Aborts the signal with an [`AbortError`]. See [`abort_with`](Self::abort_with).
    ///
    /// ```
    /// let controller = mainspring::AbortController::new();
    /// controller.abort();
    /// assert_eq!(controller.signal().reason().unwrap().to_string(), "the operation was aborted");
    /// ```
    pub fn abort(&self) {
        self.abort_with(AbortError);
    }

    /// Aborts the signal, unless it is aborted already: the first call wins, and later ones do nothing.
    ///
    /// When the first one returns, the signal and all that depend on it are aborted, and the listeners of the loop
    /// that is on this thread have been called; loops on other threads will call theirs. If a listener
    /// panics, the others are called all the same. The panic is reported to the
    /// [uncaught hook](crate::Builder::on_uncaught); under [`PanicPolicy::Propagate`](crate::PanicPolicy) it
    /// leaves this call, at the end.
    ///
    /// ```
    /// let controller = mainspring::AbortController::new();
    /// controller.abort_with(std::fmt::Error);
    /// controller.abort(); // too late
    /// assert!(controller.signal().reason().unwrap().is::<std::fmt::Error>());
    /// ```
    pub fn abort_with(&self, reason: impl Into<Rejection>) {
        self.0.abort(&reason.into());
    }
}

impl Default for AbortController {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for AbortController {
    fn drop(&mut self) {
        self.0.lose_origin();
    }
}

impl fmt::Debug for AbortController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortController").field("signal", &self.signal()).finish()
    }
}

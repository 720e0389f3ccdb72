//! What can be aborted.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::core::{AlgorithmId, Core, Origin};
use super::{listener, timeout};
use crate::{AbortError, AbortListener, Cx, Error, Rejection};

/// Says whether something is to end, and why. Clones are the same signal.
///
/// It is not bound to a loop: any thread can ask it, and [`AbortController`](crate::AbortController) aborts
/// it from any thread, once and for all. As in the DOM standard, a signal and all that depend on it are
/// aborted before the first listener is called; then the listeners of each are called, in the order in which
/// they were added.
///
/// ```
/// use mainspring::{AbortController, AbortSignal, EventLoop};
/// use std::time::Duration;
///
/// let event_loop = EventLoop::new()?;
/// let controller = AbortController::new();
/// let timeout = AbortSignal::timeout(event_loop.cx(), Duration::from_secs(10))?;
/// let either = AbortSignal::any([&timeout, &controller.signal()]);
/// either.add_listener(event_loop.cx(), |_, reason| println!("aborted: {reason}"));
/// controller.abort();
/// assert!(either.aborted());
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone)]
pub struct AbortSignal(
    /// None if it can never be aborted.
    pub(super) Option<Arc<Core>>,
);

impl AbortSignal {
    /// A signal that is never aborted. It costs nothing.
    ///
    /// ```
    /// assert!(!mainspring::AbortSignal::never().aborted());
    /// ```
    #[must_use]
    pub fn never() -> Self {
        Self(None)
    }

    /// A signal that is aborted already, with an [`AbortError`].
    ///
    /// ```
    /// assert!(mainspring::AbortSignal::abort().aborted());
    /// ```
    #[must_use]
    pub fn abort() -> Self {
        Self::aborted_with(AbortError)
    }

    /// A signal that is aborted already.
    ///
    /// ```
    /// use mainspring::{AbortSignal, Rejection};
    ///
    /// let signal = AbortSignal::aborted_with(Rejection::from_value("not today"));
    /// assert_eq!(signal.reason().unwrap().to_string(), "not today");
    /// ```
    #[must_use]
    pub fn aborted_with(reason: impl Into<Rejection>) -> Self {
        let core = Core::new(Origin::None);
        core.abort(&reason.into());
        Self(Some(core))
    }

    /// A signal that is aborted after a delay, with a [`TimeoutError`](crate::TimeoutError).
    ///
    /// The loop does not stay alive for it. The timer is cleared when the signal is dropped, unless a
    /// listener, or a signal that depends on it, waits for it.
    ///
    /// # Errors
    ///
    /// As for [`Cx::set_timeout`].
    ///
    /// ```
    /// use mainspring::{AbortSignal, EventLoop};
    /// use std::time::Duration;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let signal = AbortSignal::timeout(event_loop.cx(), Duration::from_millis(5))?;
    /// signal.add_listener(event_loop.cx(), |cx, _| cx.shutdown());
    /// event_loop.run()?;
    /// assert!(signal.aborted());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn timeout(cx: &Cx, delay: Duration) -> Result<Self, Error> {
        timeout::after(cx, delay).map(|core| Self(Some(core)))
    }

    /// A signal that is aborted as soon as one of these is, with the same reason. If some are aborted
    /// already, it is, too, with the reason of the first of them.
    ///
    /// It costs those that it depends on nothing once it is dropped. If something waits for it, it works on
    /// without being held by anybody.
    ///
    /// ```
    /// use mainspring::{AbortController, AbortSignal};
    ///
    /// let (one, other) = (AbortController::new(), AbortController::new());
    /// let either = AbortSignal::any([&one.signal(), &other.signal()]);
    /// other.abort();
    /// assert!(either.aborted());
    /// assert!(!one.signal().aborted());
    /// ```
    #[must_use]
    pub fn any<'a>(signals: impl IntoIterator<Item = &'a Self>) -> Self {
        let signals: Vec<_> = signals.into_iter().filter_map(|signal| signal.0.as_ref()).collect();
        if signals.is_empty() { Self::never() } else { Self(Some(Core::any(&signals))) }
    }

    /// Whether it is aborted. That costs one load.
    ///
    /// ```
    /// let controller = mainspring::AbortController::new();
    /// assert!(!controller.signal().aborted());
    /// controller.abort();
    /// assert!(controller.signal().aborted());
    /// ```
    #[inline]
    #[must_use]
    pub fn aborted(&self) -> bool {
        self.0.as_ref().is_some_and(|core| core.is_aborted())
    }

    /// Why it was aborted, if it was.
    ///
    /// ```
    /// use mainspring::{AbortError, AbortSignal};
    ///
    /// assert!(AbortSignal::never().reason().is_none());
    /// assert!(AbortSignal::abort().reason().unwrap().is::<AbortError>());
    /// ```
    #[must_use]
    pub fn reason(&self) -> Option<Rejection> {
        self.0.as_ref()?.reason()
    }

    /// Fails if it is aborted: for `?`, at the points where work can be given up.
    ///
    /// # Errors
    ///
    /// The reason.
    ///
    /// ```
    /// use mainspring::{AbortSignal, Rejection};
    ///
    /// fn work(signal: &AbortSignal) -> Result<u64, Rejection> {
    ///     let mut sum = 0;
    ///     for i in 0..1000 {
    ///         signal.throw_if_aborted()?;
    ///         sum += i;
    ///     }
    ///     Ok(sum)
    /// }
    /// assert!(work(&AbortSignal::never()).is_ok());
    /// assert!(work(&AbortSignal::abort()).is_err());
    /// ```
    pub fn throw_if_aborted(&self) -> Result<(), Rejection> {
        self.reason().map_or(Ok(()), Err)
    }

    /// Calls `listener` when the signal is aborted, once, on the loop's thread: within the call that aborts,
    /// if that is made there, else as an internal task. If the signal is aborted already, it is not called.
    ///
    /// The listener is dropped as soon as it can not be called any more: when the controller is dropped, and
    /// when the loop ends. Until then it is kept, also if the signal is dropped. It does not keep the loop
    /// alive.
    ///
    /// ```
    /// use mainspring::{AbortController, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let controller = AbortController::new();
    /// controller.signal().add_listener(event_loop.cx(), |cx, reason| {
    ///     println!("{reason}");
    ///     cx.shutdown();
    /// });
    /// let thread = std::thread::spawn(move || controller.abort());
    /// event_loop.run()?;
    /// thread.join().unwrap();
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn add_listener<F>(&self, cx: &Cx, listener: F) -> AbortListener
    where
        F: FnOnce(&Cx, &Rejection) + 'static,
    {
        listener::add(self.0.as_ref(), cx, Box::new(listener))
    }

    /// Removes a listener of this signal. Tells whether that kept it from being called some day.
    ///
    /// ```
    /// use mainspring::{AbortController, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let controller = AbortController::new();
    /// let signal = controller.signal();
    /// let listener = signal.add_listener(event_loop.cx(), |_, _| println!("called"));
    /// controller.abort();
    /// assert!(!signal.remove_listener(listener), "too late");
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    // By value: it names nothing afterwards.
    #[expect(clippy::needless_pass_by_value)]
    pub fn remove_listener(&self, listener: AbortListener) -> bool {
        self.0.as_ref().is_some_and(|core| listener::remove(core, &listener))
    }

    /// Runs `algorithm` when the signal is aborted, on the thread that does it, before the listeners are
    /// called. None, and it is dropped, if the signal is aborted already, or can never be.
    pub(crate) fn add_algorithm<F>(&self, algorithm: F) -> Option<AlgorithmId>
    where
        F: FnOnce(&Rejection) + Send + 'static,
    {
        self.0.as_ref()?.add_algorithm(Box::new(algorithm))
    }

    /// Removes an algorithm. True if it will not be run; false if it is running, or was run.
    pub(crate) fn remove_algorithm(&self, id: AlgorithmId) -> bool {
        self.0.as_ref().is_none_or(|core| core.remove_algorithm(id))
    }

    /// How many signals it knows that depend on it.
    #[cfg(test)]
    pub(crate) fn dependents(&self) -> usize {
        self.0.as_ref().map_or(0, |core| core.dependents())
    }
}

/// [`never`](AbortSignal::never)
impl Default for AbortSignal {
    fn default() -> Self {
        Self::never()
    }
}

/// Whether both are the same signal. All that are [never](AbortSignal::never) aborted are.
impl PartialEq for AbortSignal {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_ref().map(Arc::as_ptr) == other.0.as_ref().map(Arc::as_ptr)
    }
}

impl Eq for AbortSignal {}

impl fmt::Debug for AbortSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortSignal").field("aborted", &self.aborted()).finish_non_exhaustive()
    }
}

//! Waiting until a signal is aborted.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::{AbortListener, AbortSignal, Cx, Rejection};

/// Waits until a signal is aborted; made by [`Cx::aborted`].
///
/// It is done with the signal's reason: at once if the signal is aborted already, otherwise when its listeners
/// are called. It can be polled again after that, and is still done. A signal that can not be aborted any more,
/// because its controller was dropped, is waited for in vain; so is one after the end of the loop.
///
/// It is cancel safe: dropping it removes the listener.
///
/// ```
/// use mainspring::{AbortError, AbortController, EventLoop};
///
/// let event_loop = EventLoop::new()?;
/// let controller = AbortController::new();
/// let aborted = event_loop.cx().aborted(&controller.signal());
/// std::thread::spawn(move || controller.abort());
/// assert!(event_loop.block_on(aborted)?.is::<AbortError>());
/// # Ok::<(), mainspring::Error>(())
/// ```
#[must_use = "a future does nothing unless it is polled"]
pub struct Aborted {
    cx: Cx,
    signal: AbortSignal,
    /// There while somebody waits, who is to be woken.
    listener: Option<(AbortListener, Waker)>,
}

impl Aborted {
    fn stop_listening(&mut self) {
        if let Some((listener, _)) = self.listener.take() {
            self.signal.remove_listener(listener);
        }
    }
}

impl Future for Aborted {
    type Output = Rejection;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Rejection> {
        let is_known = |(_, waker): &(_, Waker)| waker.will_wake(cx.waker());
        if !self.signal.aborted() && !self.listener.as_ref().is_some_and(is_known) {
            self.stop_listening();
            let waker = cx.waker().clone();
            let theirs = waker.clone();
            let listener = self.signal.add_listener(&self.cx, move |_, _| theirs.wake());
            self.listener = Some((listener, waker));
        }
        // Also if it was added: another thread may have been faster, and then it is not called.
        let Some(reason) = self.signal.reason() else { return Poll::Pending };
        self.stop_listening();
        Poll::Ready(reason)
    }
}

impl Drop for Aborted {
    fn drop(&mut self) {
        self.stop_listening();
    }
}

impl fmt::Debug for Aborted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aborted").field("signal", &self.signal).finish_non_exhaustive()
    }
}

/// # Waiting for an abort, as a future
impl Cx {
    /// A future that is done when a signal is aborted, with the reason.
    ///
    /// ```
    /// use mainspring::{AbortSignal, EventLoop, TimeoutError};
    /// use std::time::Duration;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let signal = AbortSignal::timeout(event_loop.cx(), Duration::from_millis(5))?;
    /// let reason = event_loop.block_on(event_loop.cx().aborted(&signal))?;
    /// assert!(reason.is::<TimeoutError>());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn aborted(&self, signal: &AbortSignal) -> Aborted {
        Aborted { cx: self.clone(), signal: signal.clone(), listener: None }
    }
}

//! Futures that are given up when they take too long.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::Sleep;
use crate::{Cx, TimeoutError};

/// A future that is given up when it takes too long; made by [`Cx::timeout`].
///
/// The future is polled first, so one that is ready in time, or at the same moment, wins. If it is not, the
/// outcome is [`TimeoutError`]; the future is dropped together with this.
///
/// It is as cancel safe as the future is.
///
/// ```
/// use mainspring::{EventLoop, VirtualClock};
/// use std::future::pending;
/// use std::time::Duration;
///
/// let clock = VirtualClock::auto();
/// let event_loop = EventLoop::builder().clock(&clock).build()?;
/// let timeout = event_loop.cx().timeout(Duration::from_secs(5), pending::<()>());
/// assert!(event_loop.block_on(timeout)?.is_err());
/// assert_eq!(clock.elapsed(), Duration::from_secs(5));
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct Timeout<F> {
    /// Pinned while this is: [`poll`](Future::poll) relies on it.
    future: F,
    sleep: Sleep,
}

impl<F> Timeout<F> {
    /// When the future is given up. For a delay without an end, centuries from now.
    ///
    /// ```
    /// use std::future::ready;
    /// use std::time::{Duration, Instant};
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let timeout = event_loop.cx().timeout(Duration::from_secs(60), ready(5));
    /// assert!(timeout.deadline() > Instant::now());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.sleep.deadline()
    }

    /// The future.
    ///
    /// ```
    /// use std::{future::ready, time::Duration};
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let timeout = event_loop.cx().timeout(Duration::from_secs(60), ready(5));
    /// println!("{:?}", timeout.get_ref());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn get_ref(&self) -> &F {
        &self.future
    }

    /// The future, to be changed.
    ///
    /// ```
    /// use std::{future::ready, time::Duration};
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let mut timeout = event_loop.cx().timeout(Duration::from_secs(60), ready(5));
    /// *timeout.get_mut() = ready(6);
    /// assert_eq!(event_loop.block_on(timeout)?, Ok(6));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn get_mut(&mut self) -> &mut F {
        &mut self.future
    }

    /// The future, with all the time that it needs.
    ///
    /// ```
    /// use mainspring::{EventLoop, VirtualClock};
    /// use std::time::Duration;
    ///
    /// let event_loop = EventLoop::builder().clock(&VirtualClock::auto()).build()?;
    /// let cx = event_loop.cx();
    /// let mut timeout = cx.timeout(Duration::from_secs(1), cx.sleep(Duration::from_secs(2)));
    /// assert!(event_loop.block_on(&mut timeout)?.is_err());
    /// event_loop.block_on(timeout.into_inner())?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn into_inner(self) -> F {
        self.future
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, TimeoutError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of it here.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: the future is pinned because `self` is. Whoever has a pinned `Timeout` cannot move it: all that
        // gives it away, or access to it by `&mut`, takes a `Timeout` that is not pinned. This has no destructor, is
        // not packed, and is `Unpin` only if the future is, as nothing is said of that here.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        if let Poll::Ready(output) = future.poll(cx) {
            this.sleep.cancel();
            return Poll::Ready(Ok(output));
        }
        Pin::new(&mut this.sleep).poll(cx).map(|()| Err(TimeoutError))
    }
}

impl Cx {
    /// Gives a future up if it takes longer than this. If that is zero, it is polled once.
    ///
    /// ```
    /// use std::future::pending;
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let cx = event_loop.cx();
    /// let outcome = event_loop.block_on(cx.timeout(Duration::from_millis(5), pending::<()>()))?;
    /// assert_eq!(outcome, Err(mainspring::TimeoutError));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn timeout<F: IntoFuture>(&self, delay: Duration, future: F) -> Timeout<F::IntoFuture> {
        Timeout { future: future.into_future(), sleep: self.sleep(delay) }
    }
}

//! Letting the others go first.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::Cx;

impl Cx {
    /// Comes back in the next tick, when timers, descriptors and everybody else have had their turn. (Polled by
    /// something else than a future of the loop, a timer's callback for example, it may be the same tick.)
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let cx = event_loop.cx();
    /// event_loop.block_on(async {
    ///     for _step in 0..3 {
    ///         // a part of a long computation
    ///         cx.yield_now().await;
    ///     }
    /// })?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn yield_now(&self) -> YieldNow {
        YieldNow { cx: self.clone(), round: None }
    }
}

/// A future that is ready in the next tick; made by [`Cx::yield_now`].
///
/// ```
/// let event_loop = mainspring::EventLoop::new()?;
/// event_loop.block_on(event_loop.cx().yield_now())?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct YieldNow {
    cx: Cx,
    /// In which round it was polled first.
    round: Option<u64>,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.round.is_some_and(|round| round != self.cx.0.future_round()) {
            return Poll::Ready(());
        }
        // Also if it is polled again for another reason.
        let round = self.cx.0.defer_future(context.waker().clone());
        self.round = Some(round);
        Poll::Pending
    }
}

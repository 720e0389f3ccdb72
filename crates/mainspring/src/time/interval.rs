//! Waiting again and again.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use super::Sleep;
use crate::Cx;

/// The shortest period. As in JavaScript, one of zero is this one.
const SHORTEST: Duration = Duration::from_millis(1);

/// Ticks at multiples of a period; made by [`Cx::interval`].
///
/// How long it takes to handle a tick, and how late it comes, does not add up. Ticks that were missed meanwhile
/// are left out: there is never one right after the other in order to catch up.
///
/// It does nothing by itself. Somebody has to wait for each [`tick`](Self::tick), on any thread; the loop has to
/// be driven meanwhile, and if it ends, there are no more ticks.
///
/// ```
/// use mainspring::{EventLoop, VirtualClock};
/// use std::time::Duration;
///
/// let clock = VirtualClock::auto();
/// let event_loop = EventLoop::builder().clock(&clock).build()?;
/// let mut interval = event_loop.cx().interval(Duration::from_secs(10));
/// event_loop.block_on(async {
///     for _ in 0..3 {
///         interval.tick().await;
///     }
/// })?;
/// assert_eq!(clock.elapsed(), Duration::from_secs(30));
/// # Ok::<(), mainspring::Error>(())
/// ```
#[must_use = "an interval does nothing unless its ticks are awaited"]
pub struct Interval {
    /// Until the next tick.
    sleep: Sleep,
    /// Not zero.
    period: Duration,
}

impl Interval {
    /// Waits for the next tick, and returns when that was due. If the loop is late, that is in the past.
    ///
    /// Cancel safe: no tick is lost if the future is dropped.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let mut interval = event_loop.cx().interval(Duration::from_millis(5));
    /// let due = event_loop.block_on(interval.tick())?;
    /// assert!(due <= Instant::now());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Asks for the next tick, as [`tick`](Self::tick) does when it is polled.
    ///
    /// ```
    /// use std::task::{Context, Waker};
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let mut interval = event_loop.cx().interval(Duration::from_secs(1));
    /// assert!(interval.poll_tick(&mut Context::from_waker(Waker::noop())).is_pending());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(Pin::new(&mut self.sleep).poll(cx));
        let (due, now) = (self.sleep.deadline(), self.sleep.handle.now());
        let next = now.checked_add(until_next(self.period, now.saturating_duration_since(due)));
        self.sleep.reset(next.unwrap_or_else(|| self.sleep.handle.never()));
        Poll::Ready(due)
    }

    /// The time from one tick to the next.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let period = Duration::from_secs(1);
    /// assert_eq!(event_loop.cx().interval(period).period(), period);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Begins anew: the next tick is one period from now, and the others follow it.
    ///
    /// ```
    /// use mainspring::{EventLoop, VirtualClock};
    /// use std::time::Duration;
    ///
    /// let clock = VirtualClock::auto();
    /// let event_loop = EventLoop::builder().clock(&clock).build()?;
    /// let mut interval = event_loop.cx().interval(Duration::from_secs(10));
    /// clock.advance(Duration::from_secs(5));
    /// interval.reset();
    /// event_loop.block_on(interval.tick())?;
    /// assert_eq!(clock.elapsed(), Duration::from_secs(15));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn reset(&mut self) {
        self.sleep.reset(self.sleep.handle.after(self.period));
    }
}

/// How long it is to the next multiple of a period, so long after one.
fn until_next(period: Duration, late: Duration) -> Duration {
    let rest = late.as_nanos() % period.as_nanos();
    // It is not more than `late`, and that is not more than the clock can count.
    period - Duration::from_nanos(u64::try_from(rest).unwrap_or(0))
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interval")
            .field("period", &self.period)
            .field("next", &self.sleep.deadline())
            .finish()
    }
}

impl Cx {
    /// Ticks at multiples of a period from now, the first time after one period, as in JavaScript. A period of
    /// zero is one millisecond.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let mut interval = event_loop.cx().interval(Duration::from_millis(1));
    /// event_loop.block_on(async {
    ///     for _ in 0..3 {
    ///         interval.tick().await;
    ///         println!("tick");
    ///     }
    /// })?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn interval(&self, period: Duration) -> Interval {
        let period = if period.is_zero() { SHORTEST } else { period };
        Interval { sleep: self.sleep(period), period }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // spec: BX-1
    #[test]
    fn the_next_tick_is_on_the_grid_and_later_than_now() {
        let nanoseconds = Duration::from_nanos;
        for (late, left) in [(0, 10), (1, 9), (9, 1), (10, 10), (11, 9), (105, 5)] {
            assert_eq!(until_next(nanoseconds(10), nanoseconds(late)), nanoseconds(left), "{late}");
        }
        let year = Duration::from_secs(31_556_952);
        assert_eq!(until_next(nanoseconds(1), 292 * year), nanoseconds(1));
        assert_eq!(until_next(Duration::MAX, 292 * year), Duration::MAX - 292 * year);
    }
}

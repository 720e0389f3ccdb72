//! Waiting until a time has come.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::clock::instant;
use crate::{Cx, Handle, Refusal, TimerId};

/// Waits until a time has come; made by [`Cx::sleep`] and [`Cx::sleep_until`].
///
/// It is done when a tick of the loop has begun at the deadline or later: never early, not by a nanosecond. If
/// that is so when it is first polled, it is done at once, without a timer. It can be polled again after that,
/// and is still done.
///
/// It can be sent to, and awaited on, any thread, by any executor; the loop has to be driven meanwhile, and
/// knows about it from the first poll on. If the loop ends before the deadline, it is never done.
///
/// It is cancel safe: dropping it clears the timer.
///
/// ```
/// use mainspring::{EventLoop, VirtualClock};
/// use std::time::Duration;
///
/// let clock = VirtualClock::auto();
/// let event_loop = EventLoop::builder().clock(&clock).build()?;
/// event_loop.block_on(event_loop.cx().sleep(Duration::from_secs(60)))?;
/// assert_eq!(clock.elapsed(), Duration::from_secs(60));
/// # Ok::<(), mainspring::Error>(())
/// ```
#[must_use = "a future does nothing unless it is polled"]
pub struct Sleep {
    pub(super) handle: Handle,
    deadline: Instant,
    /// The timer that wakes, or that did. None if there was no need for one, or no way to set it.
    timer: Option<TimerId>,
    /// Whom to wake: there from a poll that found it pending to one that does not.
    waker: Option<Waker>,
}

impl Sleep {
    /// When it is done. For a delay without an end, centuries from now.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let deadline = Instant::now() + Duration::from_secs(1);
    /// assert_eq!(event_loop.cx().sleep_until(deadline).deadline(), deadline);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether a poll would find it done.
    ///
    /// ```
    /// use mainspring::{EventLoop, VirtualClock};
    /// use std::time::Duration;
    ///
    /// let clock = VirtualClock::new();
    /// let event_loop = EventLoop::builder().clock(&clock).build()?;
    /// let sleep = event_loop.cx().sleep(Duration::from_secs(1));
    /// assert!(!sleep.is_elapsed());
    /// clock.advance(Duration::from_secs(1));
    /// event_loop.turn(Duration::ZERO)?;
    /// assert!(sleep.is_elapsed());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn is_elapsed(&self) -> bool {
        self.handle.now() >= self.deadline
    }

    /// Gives it another deadline, whether it is done or not. Who waits for it goes on to do so.
    ///
    /// ```
    /// use mainspring::{EventLoop, VirtualClock};
    /// use std::time::Duration;
    ///
    /// let clock = VirtualClock::auto();
    /// let event_loop = EventLoop::builder().clock(&clock).build()?;
    /// let mut sleep = event_loop.cx().sleep(Duration::from_secs(60));
    /// sleep.reset(clock.now() + Duration::from_secs(1));
    /// event_loop.block_on(sleep)?;
    /// assert_eq!(clock.elapsed(), Duration::from_secs(1));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn reset(&mut self, deadline: Instant) {
        self.deadline = deadline;
        self.disarm();
        let Some(waker) = self.waker.take() else { return };
        if self.is_elapsed() {
            waker.wake();
        } else {
            self.arm(waker);
        }
    }

    /// Whether the future that polls is to let others run first. One that finds all that it awaits done would
    /// not do so by itself.
    fn is_too_much(&self, context: &Context<'_>) -> bool {
        let Some(cx) = self.handle.0.owner.cx() else { return false };
        let is_spent = cx.0.is_spent(|coop| &coop.sleeps, context);
        cx.0.spend(|coop| &coop.sleeps);
        is_spent
    }

    /// Nobody waits any more.
    pub(super) fn cancel(&mut self) {
        self.disarm();
        self.waker = None;
    }

    fn disarm(&mut self) {
        if let Some(timer) = self.timer.take() {
            self.handle.clear_timeout(timer);
        }
    }

    fn arm(&mut self, waker: Waker) {
        let theirs = waker.clone();
        match self.handle.set_timeout_at(self.deadline, move |_| theirs.wake()) {
            Ok(timer) => {
                // If it is not there any more, it has fired.
                let _ = self.handle.try_reference_timer(timer, false);
                self.timer = Some(timer);
            }
            // No timer can be had, so time has to be asked for again and again.
            Err(refused) if refused.reason() == Refusal::TimerIdExhausted => waker.wake_by_ref(),
            // The loop will not get there.
            Err(_) => {}
        }
        self.waker = Some(waker);
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_elapsed() {
            if self.is_too_much(cx) {
                return Poll::Pending;
            }
            self.cancel();
            return Poll::Ready(());
        }
        let is_known = self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if self.timer.is_none() || !is_known {
            self.disarm();
            self.arm(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.disarm();
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

/// # Waiting for a time, as futures
///
/// Delays are counted from the moment of the call, not from the first poll. None of these fails: a deadline that
/// the loop will not reach, because it is centuries away, or because the loop ends before, is one that never
/// comes.
impl Cx {
    /// A future that is done after a delay: at once, if that is zero. [`yield_now`](Self::yield_now) lets others
    /// run.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let cx = event_loop.cx().clone();
    /// event_loop.block_on(async move {
    ///     cx.sleep(Duration::from_millis(5)).await;
    ///     println!("later");
    /// })?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn sleep(&self, delay: Duration) -> Sleep {
        self.handle().sleep(delay)
    }

    /// A future that is done at a time.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let deadline = Instant::now() + Duration::from_millis(5);
    /// event_loop.block_on(event_loop.cx().sleep_until(deadline))?;
    /// assert!(Instant::now() >= deadline);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn sleep_until(&self, deadline: Instant) -> Sleep {
        self.handle().sleep_until(deadline)
    }
}

/// # Waiting for a time, as futures
impl Handle {
    /// A future that is done after a delay. See [`Cx::sleep`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let handle = event_loop.handle();
    /// let sleep = std::thread::spawn(move || handle.sleep(Duration::from_millis(5))).join().unwrap();
    /// event_loop.block_on(sleep)?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn sleep(&self, delay: Duration) -> Sleep {
        self.sleep_until(self.after(delay))
    }

    /// A future that is done at a time. See [`Cx::sleep_until`].
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.block_on(event_loop.handle().sleep_until(Instant::now()))?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn sleep_until(&self, deadline: Instant) -> Sleep {
        Sleep { handle: self.clone(), deadline, timer: None, waker: None }
    }

    /// The deadline of a delay that begins now: by a look at the clock, as for a timer. Of none, it has come.
    pub(super) fn after(&self, delay: Duration) -> Instant {
        if delay.is_zero() {
            return self.now();
        }
        instant(self.0.clock.read()).checked_add(delay).unwrap_or_else(|| self.never())
    }

    /// A time that the loop does not reach: its clock stops before.
    pub(super) fn never(&self) -> Instant {
        instant(i64::MAX) + Duration::from_nanos(1)
    }
}

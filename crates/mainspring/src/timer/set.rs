//! How timers are set, cleared and asked about on the loop's thread.

use std::time::{Duration, Instant};

use crate::clock::{instant, nanoseconds, number};
use crate::error::{Refusal, SubmitError};
use crate::place::Place;
use crate::shared::Shared;
use crate::task::{Task, TimerTask};
use crate::timer::claim::Kind;
use crate::timer::id::TimerId;
use crate::timer::interval::{Interval, Pace};
use crate::timer::page::Unadded;
use crate::{Cx, Error};

impl From<Unadded> for Refusal {
    fn from(unadded: Unadded) -> Self {
        match unadded {
            Unadded::Closed => Self::Terminated,
            Unadded::Exhausted => Self::TimerIdExhausted,
        }
    }
}

/// The deadline of a delay that begins now: by a look at the clock, because the time at which the tick
/// began may be long ago.
#[inline]
pub(super) fn from_now(shared: &Shared, delay: Duration) -> Option<i64> {
    shared.clock.read().checked_add(nanoseconds(delay)?)
}

/// The deadline of a timer that is to be set, unless that is refused.
#[inline]
pub(super) fn admit(shared: &Shared, deadline: Option<i64>) -> Result<i64, Refusal> {
    if shared.sleep.state.is_ending() {
        return Err(Refusal::Terminated);
    }
    deadline.ok_or(Refusal::DeadlineOutOfRange)
}

/// # Timers
///
/// Delays are counted from the moment of the call, in nanoseconds. A callback is never run early; it runs
/// in the first timer phase that begins at or after its deadline. Callbacks run in the order of their
/// deadlines; equal ones, in the order in which they were set. A timer that is set in a timer phase waits
/// for the next one, whatever its delay is.
///
/// Up to five words of a one-shot callback are stored without an allocation of their own.
///
/// When the loop ends, timers are dropped without being run, and not counted among what was left.
impl Cx {
    /// Runs a callback once, after a delay.
    ///
    /// # Errors
    ///
    /// The callback comes back if the deadline cannot be represented, which takes 292 years, if all ids
    /// have been used, or if the loop has begun to terminate.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().set_timeout(Duration::from_millis(5), |_| println!("later"))?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn set_timeout<F>(&self, delay: Duration, callback: F) -> Result<TimerId, SubmitError<F>>
    where
        F: FnOnce(&Cx) + 'static,
    {
        let deadline = from_now(&self.0.shared, delay);
        let place = Place::caller();
        self.set(deadline, Kind::Timeout, callback, |callback, _| {
            self.0.timer_task(callback, place)
        })
    }

    /// Runs a callback once, at a time. One that has passed counts, too: among what is due, it comes first.
    ///
    /// # Errors
    ///
    /// As for [`set_timeout`](Self::set_timeout).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let deadline = Instant::now() + Duration::from_millis(5);
    /// event_loop.cx().set_timeout_at(deadline, move |_| assert!(Instant::now() >= deadline))?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn set_timeout_at<F>(
        &self,
        deadline: Instant,
        callback: F,
    ) -> Result<TimerId, SubmitError<F>>
    where
        F: FnOnce(&Cx) + 'static,
    {
        let deadline = number(deadline);
        let place = Place::caller();
        self.set(deadline, Kind::Timeout, callback, |callback, _| {
            self.0.timer_task(callback, place)
        })
    }

    /// Runs a callback again and again: each time, the period begins when the callback has returned, as
    /// in JavaScript.
    ///
    /// A callback that panics is called again all the same. A period of zero is one call in each tick.
    ///
    /// # Errors
    ///
    /// As for [`set_timeout`](Self::set_timeout).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let mut left = 3;
    /// event_loop.cx().set_interval(Duration::from_millis(1), move |cx| {
    ///     left -= 1;
    ///     if left == 0 {
    ///         cx.clear_interval(cx.current_interval().unwrap());
    ///     }
    /// })?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn set_interval<F>(&self, period: Duration, callback: F) -> Result<TimerId, SubmitError<F>>
    where
        F: FnMut(&Cx) + 'static,
    {
        self.repeat(Pace::FixedDelay, period, Place::caller(), callback)
    }

    /// Runs a callback again and again, at multiples of a period from now: how long the callback takes, and
    /// how late it is, does not add up. Calls that were missed are made once, not one by one.
    ///
    /// # Errors
    ///
    /// As for [`set_timeout`](Self::set_timeout).
    ///
    /// ```
    /// use mainspring::{EventLoop, VirtualClock};
    /// use std::time::Duration;
    ///
    /// let clock = VirtualClock::new();
    /// let event_loop = EventLoop::builder().clock(&clock).build()?;
    /// event_loop.cx().set_interval_fixed_rate(Duration::from_secs(10), |_| println!("tick"))?;
    /// clock.advance(Duration::from_secs(35)); // one call instead of three
    /// assert_eq!(event_loop.turn(Duration::ZERO)?.callbacks, 1);
    /// assert_eq!(event_loop.next_deadline().unwrap() - clock.now(), Duration::from_secs(5));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn set_interval_fixed_rate<F>(
        &self,
        period: Duration,
        callback: F,
    ) -> Result<TimerId, SubmitError<F>>
    where
        F: FnMut(&Cx) + 'static,
    {
        self.repeat(Pace::FixedRate, period, Place::caller(), callback)
    }

    pub(super) fn repeat<F>(
        &self,
        pace: Pace,
        period: Duration,
        place: Place,
        callback: F,
    ) -> Result<TimerId, SubmitError<F>>
    where
        F: FnMut(&Cx) + 'static,
    {
        let deadline = from_now(&self.0.shared, period);
        self.set(deadline, Kind::Interval, callback, |callback, id| {
            let shared = &self.0.shared;
            Task::new(Interval::starter(id, pace, period, deadline, place, shared, callback))
        })
    }

    #[inline]
    fn set<F>(
        &self,
        deadline: Option<i64>,
        kind: Kind,
        callback: F,
        make: impl FnOnce(F, TimerId) -> TimerTask,
    ) -> Result<TimerId, SubmitError<F>> {
        self.0.shared.report_failure("set a timer", self.try_set(deadline, kind, callback, make))
    }

    #[inline]
    fn try_set<F>(
        &self,
        deadline: Option<i64>,
        kind: Kind,
        callback: F,
        make: impl FnOnce(F, TimerId) -> TimerTask,
    ) -> Result<TimerId, SubmitError<F>> {
        let local = &*self.0;
        // First, because it may drop what was cleared, and a destructor may end the loop.
        local.timers.accept(&local.shared.timers);
        let deadline = match admit(&local.shared, deadline) {
            Ok(deadline) => deadline,
            Err(refusal) => return Err(SubmitError::new(refusal, callback)),
        };
        if !local.driven.get() {
            local.tell_host();
        }
        local
            .timers
            .set(&local.shared.timers, deadline, kind, callback, make)
            .map_err(|(unadded, callback)| SubmitError::new(unadded.into(), callback))
    }

    /// Drops a timer, or ends an interval. Tells whether that kept a callback from running: false if there
    /// is no such timer any more.
    ///
    /// A timer that is due, but whose turn has not come yet, does not run either. An interval can be cleared
    /// by its own callback, which is dropped when it returns.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let id = event_loop.cx().set_timeout(Duration::from_secs(60), |_| unreachable!())?;
    /// assert!(event_loop.cx().clear_timeout(id));
    /// assert!(!event_loop.cx().clear_timeout(id), "it is gone already");
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn clear_timeout(&self, id: TimerId) -> bool {
        let mut task = None;
        self.0.timers.clear(&self.0.shared.timers, id, &mut task).is_some()
    }

    /// The same as [`clear_timeout`](Self::clear_timeout): both take ids of timers and of intervals, as in
    /// JavaScript.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let id = event_loop.cx().set_interval(Duration::from_secs(1), |_| ())?;
    /// assert!(event_loop.cx().clear_interval(id));
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn clear_interval(&self, id: TimerId) -> bool {
        self.clear_timeout(id)
    }

    /// Lets a timer wait anew, from now, with the callback that it has. Among equal deadlines it comes last
    /// then. For an interval, this moves the next call.
    ///
    /// # Errors
    ///
    /// [`Error::TimerNotFound`] if there is no such timer, or it is an interval whose callback is running;
    /// [`Error::DeadlineOutOfRange`]. Nothing is changed then.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let cx = event_loop.cx();
    /// let idle = cx.set_timeout(Duration::from_secs(30), |_| println!("nothing for 30 seconds"))?;
    /// cx.reset_timeout(idle, Duration::from_secs(30))?; // something happened
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn reset_timeout(&self, id: TimerId, delay: Duration) -> Result<(), Error> {
        self.0.shared.report_failure("reset_timeout", self.try_reset(id, delay))
    }

    fn try_reset(&self, id: TimerId, delay: Duration) -> Result<(), Error> {
        let local = &*self.0;
        let deadline = from_now(&local.shared, delay).ok_or(Error::DeadlineOutOfRange)?;
        local.tell_host();
        local.timers.reset(&local.shared.timers, id, deadline).ok_or(Error::TimerNotFound)
    }

    /// Says whether [`run_until_idle`](crate::EventLoop::run_until_idle) waits for a timer. It does, unless
    /// this says otherwise; an interval stays as it was set.
    ///
    /// # Errors
    ///
    /// [`Error::TimerNotFound`] if there is no such timer.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let id = event_loop.cx().set_interval(Duration::from_secs(60), |_| println!("cleaning up"))?;
    /// event_loop.cx().reference_timer(id, false)?;
    /// event_loop.run_until_idle()?; // does not wait for it
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn reference_timer(&self, id: TimerId, referenced: bool) -> Result<(), Error> {
        self.0.shared.report_failure("reference_timer", self.try_reference_timer(id, referenced))
    }

    pub(super) fn try_reference_timer(&self, id: TimerId, referenced: bool) -> Result<(), Error> {
        let local = &*self.0;
        local.timers.refer(&local.shared.timers, id, referenced).ok_or(Error::TimerNotFound)
    }

    /// The interval whose callback is running, so that it can clear itself.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().set_interval(Duration::ZERO, |cx| {
    ///     let id = cx.current_interval().expect("called by the interval");
    ///     cx.clear_interval(id);
    /// })?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn current_interval(&self) -> Option<TimerId> {
        self.0.timers.current_interval.get()
    }

    /// The deadline of the timer that is due first.
    ///
    /// After that timer was cleared, this may for a while still be its deadline, if there are hundreds of
    /// others around; so it may be too early, and is never too late.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// assert_eq!(event_loop.cx().next_deadline(), None);
    /// event_loop.cx().set_timeout(Duration::from_secs(60), |_| ())?;
    /// let left = event_loop.cx().next_deadline().unwrap() - event_loop.cx().now();
    /// assert!(left >= Duration::from_secs(60));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let local = &*self.0;
        local.timers.next(&local.shared.timers).map(instant)
    }
}

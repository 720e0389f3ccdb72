//! How timers are set, cleared and asked about on any thread.

use std::time::{Duration, Instant};

use crate::clock::{instant, number};
use crate::error::SubmitError;
use crate::place::Place;
use crate::task::{SendTask, SendTimerTask};
use crate::timer::claim::Kind;
use crate::timer::id::TimerId;
use crate::timer::interval::{Interval, Pace};
use crate::timer::set::{admit, from_now};
use crate::{Cx, Error, Handle};

/// # Timers
///
/// As those of [`Cx`], for any thread. None of these waits for the loop.
impl Handle {
    /// Runs a callback once, after a delay. See [`Cx::set_timeout`].
    ///
    /// # Errors
    ///
    /// As for [`Cx::set_timeout`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let handle = event_loop.handle();
    /// std::thread::spawn(move || {
    ///     handle.set_timeout(Duration::from_millis(5), |cx| cx.shutdown()).unwrap();
    /// });
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn set_timeout<F>(&self, delay: Duration, callback: F) -> Result<TimerId, SubmitError<F>>
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        if let Some(cx) = self.0.owner.cx() {
            return cx.set_timeout(delay, callback);
        }
        let deadline = from_now(&self.0, delay);
        let place = Place::caller();
        self.set(deadline, Kind::Timeout, callback, |callback, _| self.0.sent_task(callback, place))
    }

    /// Runs a callback once, at a time. See [`Cx::set_timeout_at`].
    ///
    /// # Errors
    ///
    /// As for [`Cx::set_timeout`].
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.handle().set_timeout_at(Instant::now(), |cx| cx.shutdown())?;
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn set_timeout_at<F>(
        &self,
        deadline: Instant,
        callback: F,
    ) -> Result<TimerId, SubmitError<F>>
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        if let Some(cx) = self.0.owner.cx() {
            return cx.set_timeout_at(deadline, callback);
        }
        let deadline = number(deadline);
        let place = Place::caller();
        self.set(deadline, Kind::Timeout, callback, |callback, _| self.0.sent_task(callback, place))
    }

    /// Runs a callback again and again. See [`Cx::set_interval`].
    ///
    /// # Errors
    ///
    /// As for [`Cx::set_timeout`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let id = event_loop.handle().set_interval(Duration::from_millis(5), |_| ())?;
    /// assert!(event_loop.handle().clear_interval(id));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn set_interval<F>(&self, period: Duration, callback: F) -> Result<TimerId, SubmitError<F>>
    where
        F: FnMut(&Cx) + Send + 'static,
    {
        self.repeat(Pace::FixedDelay, period, Place::caller(), callback)
    }

    /// Runs a callback again and again, without drift. See [`Cx::set_interval_fixed_rate`].
    ///
    /// # Errors
    ///
    /// As for [`Cx::set_timeout`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let id = event_loop.handle().set_interval_fixed_rate(Duration::from_secs(1), |_| ())?;
    /// assert!(event_loop.handle().clear_interval(id));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn set_interval_fixed_rate<F>(
        &self,
        period: Duration,
        callback: F,
    ) -> Result<TimerId, SubmitError<F>>
    where
        F: FnMut(&Cx) + Send + 'static,
    {
        self.repeat(Pace::FixedRate, period, Place::caller(), callback)
    }

    fn repeat<F>(
        &self,
        pace: Pace,
        period: Duration,
        place: Place,
        callback: F,
    ) -> Result<TimerId, SubmitError<F>>
    where
        F: FnMut(&Cx) + Send + 'static,
    {
        if let Some(cx) = self.0.owner.cx() {
            return cx.repeat(pace, period, place, callback);
        }
        let deadline = from_now(&self.0, period);
        self.set(deadline, Kind::Interval, callback, |callback, id| {
            let shared = &self.0;
            SendTask::new(Interval::starter(id, pace, period, deadline, place, shared, callback))
        })
    }

    fn set<F>(
        &self,
        deadline: Option<i64>,
        kind: Kind,
        callback: F,
        make: impl Fn(F, TimerId) -> SendTimerTask,
    ) -> Result<TimerId, SubmitError<F>> {
        self.0.report_failure("set a timer", self.try_set(deadline, kind, callback, make))
    }

    fn try_set<F>(
        &self,
        deadline: Option<i64>,
        kind: Kind,
        callback: F,
        make: impl Fn(F, TimerId) -> SendTimerTask,
    ) -> Result<TimerId, SubmitError<F>> {
        let deadline = match admit(&self.0, deadline) {
            Ok(deadline) => deadline,
            Err(refusal) => return Err(SubmitError::new(refusal, callback)),
        };
        match self.0.timers.set(deadline, kind, callback, make) {
            Ok(id) => {
                self.0.sleep.notify_of_entry();
                Ok(id)
            }
            Err((unadded, callback)) => Err(SubmitError::new(unadded.into(), callback)),
        }
    }

    /// Drops a timer, or ends an interval. Tells, without waiting for the loop, whether that kept a callback
    /// from running: if it says so, no call begins after this, but one of an interval that has just begun goes on.
    /// See [`Cx::clear_timeout`].
    ///
    /// The callback itself is dropped by the loop, soon.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let handle = event_loop.handle();
    /// let id = event_loop.cx().set_timeout(Duration::from_secs(60), |_| unreachable!())?;
    /// std::thread::spawn(move || assert!(handle.clear_timeout(id))).join().unwrap();
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn clear_timeout(&self, id: TimerId) -> bool {
        if let Some(cx) = self.0.owner.cx() {
            return cx.clear_timeout(id);
        }
        let cleared = self.0.timers.clear(id);
        if cleared {
            // Not only a signal: a loop that is about to sleep may have seen the timer alive, and taken in
            // afterwards that it is gone. It has to look again whether it is idle.
            self.0.wake();
        }
        cleared
    }

    /// The same as [`clear_timeout`](Self::clear_timeout).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let id = event_loop.handle().set_interval(Duration::from_secs(1), |_| ())?;
    /// assert!(event_loop.handle().clear_interval(id));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn clear_interval(&self, id: TimerId) -> bool {
        self.clear_timeout(id)
    }

    /// Says whether `run_until_idle` waits for a timer. See [`Cx::reference_timer`].
    ///
    /// # Errors
    ///
    /// [`Error::TimerNotFound`] if there is no such timer.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let id = event_loop.handle().set_timeout(Duration::from_secs(60), |_| ())?;
    /// event_loop.handle().reference_timer(id, false)?;
    /// event_loop.run_until_idle()?; // does not wait for it
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn reference_timer(&self, id: TimerId, referenced: bool) -> Result<(), Error> {
        self.0.report_failure("reference_timer", self.try_reference_timer(id, referenced))
    }

    /// Likewise, for those who expect that it may be gone: nobody is told of that.
    pub(crate) fn try_reference_timer(&self, id: TimerId, referenced: bool) -> Result<(), Error> {
        if let Some(cx) = self.0.owner.cx() {
            return cx.try_reference_timer(id, referenced);
        }
        self.0.timers.refer(id, referenced).ok_or(Error::TimerNotFound)?;
        // A loop that waits for nothing else is to notice.
        self.0.wake();
        Ok(())
    }

    /// The deadline of the timer that is due first, as far as the loop has told; it may be too early after
    /// timers were cleared, and is never too late. See [`Cx::next_deadline`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().set_timeout(Duration::from_secs(60), |_| ())?;
    /// assert_eq!(event_loop.handle().next_deadline(), event_loop.cx().next_deadline());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        if let Some(cx) = self.0.owner.cx() {
            return cx.next_deadline();
        }
        self.0.timers.next().map(instant)
    }
}

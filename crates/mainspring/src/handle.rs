//! The loop as other threads see it.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::clock::instant;
use crate::error::SubmitError;
use crate::local::Local;
use crate::place::{Origin, Place};
use crate::shared::Shared;
use crate::sync::Ordering;
use crate::{Cx, Deadline, Error, FastPathMode, LoopState, Queue, Shutdown};

/// Talks to a loop from any thread.
///
/// No call waits for the loop, except [`shutdown`](Self::shutdown). A handle does not keep its loop
/// running, and can be used after the loop is gone: then everything is refused as
/// [`Refusal::Terminated`](crate::Refusal::Terminated).
///
/// Used on the loop's own thread, it queues beside [`Cx`], without a lock or an atomic
/// read-modify-write unless the lane is near its mark, and the order of that thread's calls is kept
/// whichever of both is used.
///
/// ```
/// use mainspring::EventLoop;
///
/// let event_loop = EventLoop::new()?;
/// let handle = event_loop.handle();
/// let thread = std::thread::spawn(move || {
///     handle.submit(|cx| cx.shutdown()).unwrap();
/// });
/// event_loop.run()?;
/// thread.join().unwrap();
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone)]
pub struct Handle(pub(crate) Arc<Shared>);

impl Handle {
    /// Queues a task in the external lane.
    ///
    /// Tasks run in the order in which a thread submitted them, up to a budget in each tick. After
    /// each one the microtasks are run. Closures of up to six words are stored without an allocation.
    ///
    /// # Errors
    ///
    /// The task comes back if the lane is at its high-water mark or termination has begun.
    ///
    /// ```
    /// use mainspring::{EventLoop, Refusal};
    ///
    /// let event_loop = EventLoop::builder().high_water_mark(1).build()?;
    /// let handle = event_loop.handle();
    /// handle.submit(|_| println!("first"))?;
    /// let refused = handle.submit(|_| println!("second")).unwrap_err();
    /// assert_eq!(refused.reason(), Refusal::Overloaded);
    /// event_loop.run_until_idle()?;
    /// handle.submit(refused.into_task())?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn submit<F>(&self, task: F) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        let place = Place::caller();
        let sent = self.send(task, Queue::External, place, |local, task| local.submit(task, place));
        self.0.report_failure("submit", sent)
    }

    /// Queues a task in the internal lane, which runs before the external one, to its end, and has no
    /// bound. For completions that must not be refused because of load.
    ///
    /// # Errors
    ///
    /// The task comes back if the loop has terminated; while it is terminating it is accepted.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.handle().submit_internal(|cx| cx.shutdown())?;
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn submit_internal<F>(&self, task: F) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        let place = Place::caller();
        let sent = self
            .send(task, Queue::Internal, place, |local, task| local.submit_internal(task, place));
        self.0.report_failure("submit_internal", sent)
    }

    /// Queues a microtask: it runs after the callback that is running now.
    ///
    /// # Errors
    ///
    /// The microtask comes back if the loop has terminated.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.handle().queue_microtask(|cx| cx.shutdown())?;
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn queue_microtask<F>(&self, microtask: F) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        let place = Place::caller();
        let sent = self.send(microtask, Queue::Microtasks, place, |local, task| {
            local.queue_microtask(task, place)
        });
        self.0.report_failure("queue_microtask", sent)
    }

    /// Queues a task of the library's own in the internal lane.
    pub(crate) fn send_internal<F>(&self, task: F) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        let place = Place::UNKNOWN;
        self.send(task, Queue::Internal, place, |local, task| local.submit_internal(task, place))
    }

    /// Queues a microtask of the library's own.
    pub(crate) fn send_microtask<F>(&self, task: F) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        let place = Place::UNKNOWN;
        self.send(task, Queue::Microtasks, place, |local, task| local.queue_microtask(task, place))
    }

    /// Through the loop's own queue on the loop's own thread, through the inbox elsewhere.
    #[inline]
    fn send<F>(
        &self,
        task: F,
        queue: Queue,
        place: Place,
        own: impl FnOnce(&Local, F) -> Result<(), SubmitError<F>>,
    ) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        // SAFETY: queueing moves the task, and runs no code of the user.
        if let Some(local) = unsafe { self.0.owner.local() } {
            return own(local, task);
        }
        self.0.send(queue, task, place)
    }

    /// Shuts the loop down, and waits until it has terminated or `deadline` has passed.
    ///
    /// External tasks are refused from now on. What was accepted is run: external tasks, internal
    /// tasks, microtasks, the immediates that were set before it began, and close callbacks, again and
    /// again until there are none. Functions that were given to [`promisify`](Self::promisify) are waited for.
    /// Futures that were woken are polled; those that wait are dropped, and so are timers, and not counted. Callbacks may
    /// go on to queue all but external tasks and immediates; if
    /// they do so for ever, only a deadline or a [`close`](Self::close) ends it.
    ///
    /// The loop must be driven in order to finish. From a callback, or elsewhere on the loop's own
    /// thread, this begins the shutdown and returns [`Shutdown::Begun`] without waiting. A loop that
    /// was never driven terminates at once, and what was queued is dropped.
    ///
    /// The deadline is a [`Duration`](std::time::Duration) from now, an [`Instant`], or
    /// [`Deadline::NEVER`]. When it passes, what is left is dropped as soon as the running callback
    /// returns. A deadline in the past is a [`close`](Self::close) that reports what was left, where this
    /// waits at all.
    ///
    /// # Errors
    ///
    /// * [`Error::DeadlineExceeded`] with the number of callbacks that were left.
    /// * [`Error::Terminated`] if the shutdown was begun by somebody else; also then this returns only
    ///   after the loop has terminated or the deadline has passed.
    ///
    /// ```
    /// use mainspring::{EventLoop, Shutdown};
    /// use std::time::Duration;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let handle = event_loop.handle();
    /// let thread = std::thread::spawn(move || {
    ///     handle.submit(|_| println!("this runs")).unwrap();
    ///     handle.shutdown(Duration::from_secs(5))
    /// });
    /// match event_loop.run() {
    ///     // The other thread was faster: a loop that was never driven drops what it has.
    ///     Ok(()) | Err(mainspring::Error::Terminated) => {}
    ///     Err(error) => return Err(error),
    /// }
    /// assert!(matches!(thread.join().unwrap()?, Shutdown::Finished { .. }));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn shutdown(&self, deadline: impl Into<Deadline>) -> Result<Shutdown, Error> {
        self.0.report_failure("shutdown", crate::shutdown::shutdown(&self.0, deadline.into()))
    }

    /// Terminates the loop: nothing that is queued runs, all of it is dropped.
    ///
    /// Does not wait: the callback that is running now returns first; if the loop is between two calls
    /// that drive it, the next one, or dropping it, carries the end out. A loop that was never driven
    /// terminates at once. On a loop that has terminated, nothing happens.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let handle = event_loop.handle();
    /// handle.submit(|_| unreachable!("dropped"))?;
    /// handle.close();
    /// assert!(handle.submit(|_| ()).is_err());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn close(&self) {
        crate::shutdown::close(&self.0);
    }

    /// What the loop is doing.
    ///
    /// ```
    /// use mainspring::{EventLoop, LoopState};
    ///
    /// let handle = EventLoop::new()?.handle(); // the loop itself is dropped here
    /// assert_eq!(handle.state(), LoopState::Terminated);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn state(&self) -> LoopState {
        self.0.state()
    }

    /// What the loop had done when it last published that: before it blocked, or a millisecond ago at the most
    /// while it is busy with short callbacks. None unless it was built with
    /// [`Builder::metrics`](crate::Builder::metrics).
    ///
    /// Any thread may ask, as often as it likes: the loop does not notice.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().metrics(true).build()?;
    /// let handle = event_loop.handle();
    /// event_loop.run_until_idle()?;
    /// std::thread::spawn(move || println!("{} ticks", handle.metrics().unwrap().ticks)).join().unwrap();
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn metrics(&self) -> Option<crate::Metrics> {
        self.0.shown.as_ref().map(|shown| shown.metrics())
    }

    /// The last callbacks that ran for longer than the [threshold](crate::Builder::stall_threshold), the latest
    /// one last. One that still runs is among them.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// assert!(event_loop.handle().stalls().is_empty());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn stalls(&self) -> Vec<crate::Stall> {
        let watchdog = self.0.shown.as_ref().and_then(|shown| shown.watchdog.as_ref());
        watchdog.map_or_else(Vec::new, |watchdog| watchdog.recent())
    }

    /// Makes the loop go through a tick, also if nothing is queued: a sleep ends, a
    /// [`turn`](crate::EventLoop::turn) returns, the condition of
    /// [`run_until_aborted`](crate::EventLoop::run_until_aborted) is asked again.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.handle().wake();
    /// event_loop.turn(None)?; // would block otherwise
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn wake(&self) {
        self.0.wake();
    }

    /// The time at which the loop's present tick began.
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// assert!(event_loop.handle().now() <= Instant::now());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn now(&self) -> Instant {
        instant(self.0.clock.cached())
    }

    /// How many callbacks wait in the queues of the loop, all together.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.handle().submit(|_| ())?;
    /// assert_eq!(event_loop.handle().pending(), 1);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn pending(&self) -> usize {
        self.0.pending()
    }

    /// How the loop blocks.
    ///
    /// ```
    /// use mainspring::{EventLoop, FastPathMode};
    ///
    /// assert_eq!(EventLoop::new()?.handle().fast_path(), FastPathMode::Auto);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn fast_path(&self) -> FastPathMode {
        self.0.fast_path()
    }

    /// Changes how the loop blocks, also while it does.
    ///
    /// # Errors
    ///
    /// [`Error::FastPathIncompatible`] if it is to be Forced and descriptors are registered, [`Error::Io`] if
    /// the system refused a descriptor, [`Error::Terminated`]. The mode is as before then.
    ///
    /// ```
    /// use mainspring::{EventLoop, FastPathMode};
    ///
    /// let event_loop = EventLoop::new()?;
    /// event_loop.handle().set_fast_path(FastPathMode::Disabled)?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn set_fast_path(&self, mode: FastPathMode) -> Result<(), Error> {
        self.0.report_failure("set_fast_path", self.0.set_fast_path(mode))
    }

    /// The number of the loop: which one of those that this process has made.
    ///
    /// ```
    /// let (one, other) = (mainspring::EventLoop::new()?, mainspring::EventLoop::new()?);
    /// assert_ne!(one.handle().id(), other.handle().id());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Keeps [`run_until_idle`](crate::EventLoop::run_until_idle) from returning for as long as the
    /// guard lives: something will be submitted later.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let handle = event_loop.handle();
    /// let guard = handle.keep_alive();
    /// std::thread::spawn(move || {
    ///     handle.submit(|_| println!("in time")).unwrap();
    ///     drop(guard);
    /// });
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[track_caller]
    pub fn keep_alive(&self) -> KeepAlive {
        self.keep_alive_at(Place::caller())
    }

    /// A guard that was taken there.
    pub(crate) fn keep_alive_at(&self, place: Place) -> KeepAlive {
        let origin = Origin::new(place.get(), "");
        let number = self.0.is_observed().then(|| self.0.guards.add(origin));
        self.0.holds.fetch_add(1, Ordering::Relaxed);
        KeepAlive { handle: self.clone(), number }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("state", &self.state()).finish_non_exhaustive()
    }
}

/// Keeps a loop from becoming idle; made by [`Handle::keep_alive`].
///
/// ```
/// let event_loop = mainspring::EventLoop::new()?;
/// let guard = event_loop.handle().keep_alive();
/// drop(guard);
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "the loop is kept alive until this is dropped"]
pub struct KeepAlive {
    handle: Handle,
    /// Its number on the loop's list of guards, if there is one.
    number: Option<usize>,
}

impl Drop for KeepAlive {
    fn drop(&mut self) {
        // Release: the partner is the Acquire in `Local::is_alive`. What was submitted before is seen
        // by a loop that sees the guard gone.
        if let Some(number) = self.number {
            self.handle.0.guards.remove(number);
        }
        if self.handle.0.holds.fetch_sub(1, Ordering::Release) == 1 {
            self.handle.wake();
        }
    }
}

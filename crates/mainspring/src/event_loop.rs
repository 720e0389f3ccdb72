//! The loop, and the ways to drive it.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::builder::Config;
use crate::current::Entered;
use crate::fault::log_isolated;
use crate::hooks::Hooks;
use crate::local::Local;
use crate::observe::Observe;
use crate::observed::observed;
use crate::poll::Wait;
use crate::shared::Shared;
use crate::tick::Tick;
use crate::{Builder, Cx, Error, FastPathMode, Handle, LoopState};

/// An event loop, owned by one thread.
///
/// It is made on the thread that will drive it, and stays there: all callbacks run on that thread.
/// Other threads talk to it through a [`Handle`].
///
/// # One tick
///
/// 1. The cached time is refreshed.
/// 2. Timers that are due, those that were there when this phase began.
/// 3. The internal lane is run to its end.
/// 4. [Futures](Cx::spawn_local) that were woken are polled, up to their budget.
/// 5. The external lane is run up to its budget.
/// 6. Microtasks.
/// 7. The loop polls. It blocks only if nothing is queued, and until the next timer is due at the most.
/// 8. Callbacks of the descriptors that are ready, 1,024 at the most; the others come in the next tick.
/// 9. Microtasks.
/// 10. Immediates, those that were there when this phase began.
/// 11. Close callbacks, likewise.
///
/// After each callback comes a checkpoint: the `next_tick` queue and the microtask queue are run, in
/// turn, until both are empty.
///
/// # Ways to drive it
///
/// | method | returns |
/// |---|---|
/// | [`run`](Self::run) | when the loop has terminated |
/// | [`run_until_aborted`](Self::run_until_aborted) | likewise; a condition of yours shuts it down |
/// | [`run_until_idle`](Self::run_until_idle) | when nothing is left that could cause a callback |
/// | [`block_on`](Self::block_on) | when a future is done |
/// | [`turn`](Self::turn) | after one tick |
///
/// Between two of them the state is Running, or Sleeping for a guest. A shutdown that is begun then is carried out
/// by the next
/// one, and nothing that was accepted is lost.
///
/// Dropping the loop terminates it: what is queued is dropped.
///
/// ```
/// use mainspring::EventLoop;
///
/// let event_loop = EventLoop::new()?;
/// event_loop.cx().submit(|cx| {
///     println!("task");
///     cx.queue_microtask(|_| println!("microtask"));
/// })?;
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
///
/// It cannot be sent to another thread:
///
/// ```compile_fail,E0277
/// let event_loop = mainspring::EventLoop::new().unwrap();
/// std::thread::spawn(move || event_loop.run());
/// ```
#[must_use = "the loop ends when it is dropped"]
pub struct EventLoop {
    cx: Cx,
}

/// What a [`turn`](EventLoop::turn) did.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let event_loop = mainspring::EventLoop::new()?;
/// event_loop.cx().submit(|_| ())?;
/// let turn = event_loop.turn(Duration::ZERO)?;
/// assert_eq!(turn.callbacks, 1);
/// assert!(!turn.ready, "nothing is left to do at once");
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turn {
    /// How many callbacks were run. A future that another thread woke counts twice: the wake comes as a task.
    pub callbacks: u64,
    /// Whether something is queued, so that the next turn would not block.
    pub ready: bool,
}

impl EventLoop {
    /// Makes a loop with the default options, which belongs to the current thread.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system refuses what the loop needs.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// Sets options first.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().external_budget(64).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn assemble(config: Config, hooks: Hooks) -> Result<Self, Error> {
        // Written where it stays: as an argument, some kilobytes would be moved twice.
        let shared = Arc::new_cyclic(|_| Shared::new(&config));
        if let Some(clock) = &config.clock {
            clock.attach(&shared);
        }
        if config.fast_path == FastPathMode::Disabled {
            drop(shared.sleep.open_source()?);
        }
        let cx = Cx(Rc::new_cyclic(|_| Local::new(Arc::clone(&shared), config, hooks)));
        // SAFETY: the context lives as long as this loop, whose destructor resets the pointer.
        unsafe { shared.owner.set(Rc::as_ptr(&cx.0)) };
        Ok(Self { cx })
    }

    /// A handle for other threads.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let handle = event_loop.handle();
    /// std::thread::spawn(move || handle.submit(|cx| cx.shutdown()).unwrap());
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.cx.handle()
    }

    /// The context that callbacks are given, for the time before and between.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().queue_microtask(|_| println!("first of all"));
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn cx(&self) -> &Cx {
        &self.cx
    }

    /// What the loop is doing.
    ///
    /// ```
    /// use mainspring::{EventLoop, LoopState};
    ///
    /// assert_eq!(EventLoop::new()?.state(), LoopState::Awake);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn state(&self) -> LoopState {
        self.cx.state()
    }

    /// The deadline of the timer that is due first. See [`Cx::next_deadline`].
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().set_timeout(Duration::from_millis(1), |_| ())?;
    /// while let Some(deadline) = event_loop.next_deadline() {
    ///     // Another loop would wait here, until then at the most.
    ///     event_loop.turn(deadline.saturating_duration_since(std::time::Instant::now()))?;
    /// }
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.cx.next_deadline()
    }

    /// Drives the loop until it has terminated, because of a [`shutdown`](Handle::shutdown) or a
    /// [`close`](Handle::close).
    ///
    /// # Errors
    ///
    /// * [`Error::Terminated`] if it has terminated already.
    /// * [`Error::ReentrantRun`] from a callback of the same loop.
    /// * [`Error::Io`] if the poller failed for good; the loop has been shut down then.
    ///
    /// ```
    /// use mainspring::{Error, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// event_loop.cx().submit(|cx| cx.shutdown())?;
    /// event_loop.run()?;
    /// assert!(matches!(event_loop.run(), Err(Error::Terminated)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn run(&self) -> Result<(), Error> {
        self.drive(Wait::Forever, || false)
    }

    /// Drives the loop until nothing is left that could cause a callback: no callback is queued, no
    /// [referenced](Cx::reference_timer) timer waits, no [referenced](Cx::reference_fd) descriptor is
    /// registered, no [referenced](crate::JoinHandle::reference) future is left, no function given to
    /// [`promisify`](Handle::promisify) is waited for, and no
    /// [`KeepAlive`](crate::KeepAlive) guard exists. Promises that are pending do not count.
    ///
    /// The loop does not terminate by this, and can be driven again. A task that another thread
    /// submits at the same time may stay queued until then.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().set_immediate(|cx| cx.queue_microtask(|_| println!("done")));
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn run_until_idle(&self) -> Result<(), Error> {
        self.drive(Wait::WhileAlive, || !self.stays_alive())
    }

    /// Runs a checkpoint, and nothing else: what [`next_tick`](Cx::next_tick) queued and the microtasks, until
    /// there are neither. For what was queued between two calls that drive the loop, and has to happen before
    /// the next tick.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().set_immediate(|_| unreachable!("this is no tick"));
    /// event_loop.cx().queue_microtask(|_| println!("microtask"));
    /// event_loop.run_microtasks()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn run_microtasks(&self) -> Result<(), Error> {
        self.enter().map(drop)
    }

    /// Drives the loop like [`run`](Self::run), and shuts it down when `aborted` says so.
    ///
    /// The condition is asked at least once in each tick, also if the tick's work never ends. A loop
    /// that sleeps does not ask: call [`Handle::wake`] after changing what the condition looks at.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let handle = event_loop.handle();
    /// let flag = Arc::new(AtomicBool::new(false));
    /// let setter = Arc::clone(&flag);
    /// std::thread::spawn(move || {
    ///     setter.store(true, Ordering::Relaxed);
    ///     handle.wake();
    /// });
    /// event_loop.run_until_aborted(move || flag.load(Ordering::Relaxed))?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn run_until_aborted(&self, aborted: impl FnMut() -> bool + 'static) -> Result<(), Error> {
        struct Reset<'a>(&'a Local);
        impl Drop for Reset<'_> {
            fn drop(&mut self) {
                self.0.stop.take();
            }
        }
        if self.cx.0.driven.get() {
            return Err(Error::ReentrantRun);
        }
        let _reset = Reset(&self.cx.0);
        self.cx.0.stop.replace(Some(Box::new(aborted)));
        self.drive(Wait::Forever, || false)
    }

    /// Drives the loop through one tick, for use inside another loop.
    ///
    /// If there is nothing to run, it waits for at most `timeout`: `Duration::ZERO` for not at all,
    /// `None` for as long as it takes. What ended the wait, a timer for example, may be left for the next
    /// turn; the result tells. If termination has begun, it is carried out, which may wait for functions that were
    /// given to [`promisify`](Handle::promisify).
    ///
    /// With a [`VirtualClock`](crate::VirtualClock) that advances by itself the wait is in virtual time and
    /// takes none; otherwise in real time.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().submit(|_| println!("one tick"))?;
    /// event_loop.turn(Duration::ZERO)?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn turn(&self, timeout: impl Into<Option<Duration>>) -> Result<Turn, Error> {
        let local = &*self.cx.0;
        let ran = local.ran.get();
        let driving = self.enter()?;
        // A time too far away to be represented is for ever.
        let deadline = timeout.into().and_then(|timeout| local.shared.limit(timeout));
        let wait = Wait::Turn { deadline, ran };
        let result = observed!(self.cx, |observe| driving.step(observe, wait));
        // A wake that came before, or meanwhile, is answered by the return.
        local.shared.take_wake();
        if local.is_ending() {
            self.cx.finish();
        }
        result.map(|()| Turn {
            callbacks: local.ran.get() - ran,
            ready: !local.finished.get() && local.look_idle().is_none(),
        })
    }

    /// Drives the loop until something is so, or it has terminated.
    pub(crate) fn drive(&self, wait: Wait, is_done: impl Fn() -> bool) -> Result<(), Error> {
        let driving = self.enter()?;
        observed!(self.cx, |observe| self.drive_on(&driving, observe, wait, is_done))
    }

    fn drive_on(
        &self,
        driving: &Driving<'_>,
        observe: impl Observe,
        wait: Wait,
        is_done: impl Fn() -> bool,
    ) -> Result<(), Error> {
        let mut result = Ok(());
        while !self.cx.0.is_ending() {
            if is_done() {
                if self.cx.0.is_ending() {
                    break;
                }
                // A wake that came meanwhile is answered by the return.
                self.cx.0.shared.take_wake();
                return result;
            }
            // A wake that comes after this keeps the tick from blocking; whoever asked for it before is
            // heard by the step's look at the stop condition.
            self.cx.0.shared.take_wake();
            result = driving.step(observe, wait);
        }
        self.cx.finish();
        result
    }

    /// Whether `run_until_idle` goes on.
    fn stays_alive(&self) -> bool {
        let local = &*self.cx.0;
        if local.is_alive() {
            return true;
        }
        self.cx.run_hook(&local.hooks.before_exit);
        local.is_alive()
    }

    /// Claims the loop for a call that drives it.
    fn enter(&self) -> Result<Driving<'_>, Error> {
        let local = &*self.cx.0;
        if local.driven.get() {
            return Err(Error::ReentrantRun);
        }
        if local.finished.get() {
            return Err(Error::Terminated);
        }
        if !local.started.get() {
            if let Err(error) = local.shared.sleep.state.claim() {
                // Another thread has terminated it, or is about to.
                self.bury();
                return Err(error);
            }
            local.started.set(true);
            local.timers.is_driven.set(true);
        }
        if local.dozing.replace(false) {
            local.shared.sleep.state.wake_up();
        }
        local.set_driven(true);
        let driving = Driving { cx: &self.cx, _entered: Entered::new(&self.cx) };
        // What was queued before, or left by a panic, comes before the first task.
        self.cx.renew_budget();
        observed!(self.cx, |observe| {
            observe.enters();
            Tick { cx: &self.cx, observe }.run_microtasks();
        });
        Ok(driving)
    }

    /// Starts the thread that looks whether the loop gets on, if there is to be one.
    #[cfg(all(feature = "metrics", not(loom)))]
    pub(crate) fn start_watchdog(&self, hook: Option<crate::stall::Hook>) -> Result<(), Error> {
        let local = &*self.cx.0;
        if let Some(threshold) = local.config.stall_threshold
            && let Some(shown) = &local.shared.shown
            && let Some(watchdog) = &shown.watchdog
        {
            crate::stall::start(Arc::clone(watchdog), Arc::clone(shown), threshold, hook)?;
        }
        Ok(())
    }

    /// Drops what this thread had queued on a loop that another thread terminates undriven.
    fn bury(&self) {
        // The other thread is about to say that it is done with the queues.
        self.cx.0.shared.end.wait(None);
        self.cx.0.drop_queued();
    }
}

/// Exists while a call drives the loop.
struct Driving<'a> {
    cx: &'a Cx,
    _entered: Entered,
}

impl Driving<'_> {
    /// One tick, unless the loop is to be shut down instead.
    fn step(&self, observe: impl Observe, wait: Wait) -> Result<(), Error> {
        let shared = &self.cx.0.shared;
        self.cx.check_stop();
        if self.cx.0.is_ending() {
            return Ok(());
        }
        let result = Tick { cx: self.cx, observe }.run(wait);
        let result = shared.report_failure("poll", result);
        if let Err(error) = &result {
            let hook = &self.cx.0.hooks.error;
            if hook.is_set() {
                self.cx.call_hook(|| hook.call(|hook| hook(self.cx, error)));
            } else {
                log_isolated(|| tracing::error!(%error, "the poller failed, so the loop ends"));
            }
            shared.begin_termination(false);
        }
        result
    }
}

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        #[cfg(feature = "metrics")]
        if let Some(observer) = self.cx.0.observer() {
            observer.leaves(&self.cx.0);
        }
        self.cx.0.set_driven(false);
    }
}

impl Drop for EventLoop {
    fn drop(&mut self) {
        /// Resets the pointer, whatever happens: soundness depends on it.
        struct Disown<'a>(&'a Shared);
        impl Drop for Disown<'_> {
            fn drop(&mut self) {
                // SAFETY: null.
                unsafe { self.0.owner.set(std::ptr::null()) };
            }
        }
        let local = &*self.cx.0;
        #[cfg(feature = "metrics")]
        let _observed = local.observer().map(|_| EndOfObservation(local));
        let _disown = Disown(&local.shared);
        if !local.finished.get() {
            let from = local.shared.begin_termination(true).from;
            if from.is_ending() && !local.started.get() {
                self.bury();
            } else {
                let _entered = Entered::new(&self.cx);
                local.set_driven(true);
                observed!(self.cx, |observe| observe.enters());
                self.cx.finish();
                local.set_driven(false);
            }
        }
    }
}

/// Publishes the last figures, and lets the watchdog go: last of all, as what is run at the end may stall, too.
#[cfg(feature = "metrics")]
struct EndOfObservation<'a>(&'a Local);

#[cfg(feature = "metrics")]
impl Drop for EndOfObservation<'_> {
    fn drop(&mut self) {
        if let Some(observer) = self.0.observer() {
            observer.ends(self.0);
        }
    }
}

impl fmt::Debug for EventLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLoop").field("state", &self.state()).finish_non_exhaustive()
    }
}

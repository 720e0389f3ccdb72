//! The loop as its own callbacks see it.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use crate::clock::instant;
use crate::error::SubmitError;
use crate::immediate::ImmediateId;
use crate::local::Local;
use crate::place::Place;
use crate::{Deadline, Error, Handle, LoopState};

/// The context of a loop, for code on the loop's own thread.
///
/// Every callback is given one by reference, and [`EventLoop::cx`](crate::EventLoop::cx) has one for
/// the time before and between. Callbacks queued through it need not be `Send`. It can be cloned and
/// kept, in the state of a script engine for example; it does not keep the loop running, and once the
/// loop has terminated, it refuses what it is given.
///
/// ```
/// use mainspring::EventLoop;
/// use std::{cell::RefCell, rc::Rc};
///
/// let log = Rc::new(RefCell::new(Vec::new())); // not `Send`
/// let event_loop = EventLoop::new()?;
/// let say = |what| {
///     let log = Rc::clone(&log);
///     move |_: &mainspring::Cx| log.borrow_mut().push(what)
/// };
/// event_loop.cx().submit(say("task"))?;
/// event_loop.cx().queue_microtask(say("microtask"));
/// event_loop.cx().next_tick(say("next tick"));
/// event_loop.run_until_idle()?;
/// assert_eq!(*log.borrow(), ["next tick", "microtask", "task"]);
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone)]
pub struct Cx(pub(crate) Rc<Local>);

impl Cx {
    /// A handle for other threads.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let handle = event_loop.cx().handle();
    /// std::thread::spawn(move || handle.submit(|_| ()).unwrap()).join().unwrap();
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.0.shared))
    }

    /// Queues a task in the external lane.
    ///
    /// Tasks run in the order in which a thread submitted them, up to a budget in each tick. After
    /// each one the microtasks are run.
    ///
    /// # Errors
    ///
    /// The task comes back if the lane is at its high-water mark or termination has begun.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().submit(|cx| cx.shutdown())?;
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn submit<F>(&self, task: F) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&Cx) + 'static,
    {
        self.0.shared.report_failure("submit", self.0.submit(task, Place::caller()))
    }

    /// Queues a task in the internal lane, which runs before the external one, to its end, and has no
    /// bound.
    ///
    /// # Errors
    ///
    /// The task comes back if the loop has terminated.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().submit_internal(|cx| cx.shutdown())?;
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn submit_internal<F>(&self, task: F) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&Cx) + 'static,
    {
        self.0
            .shared
            .report_failure("submit_internal", self.0.submit_internal(task, Place::caller()))
    }

    /// Queues a microtask: it runs after the present callback, before any other one.
    ///
    /// Once the loop has terminated, the microtask is dropped instead;
    /// [`try_queue_microtask`](Self::try_queue_microtask) gives it back.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().queue_microtask(|cx| cx.shutdown());
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn queue_microtask<F>(&self, microtask: F)
    where
        F: FnOnce(&Cx) + 'static,
    {
        let _ = self.0.queue_microtask(microtask, Place::caller());
    }

    /// Like [`queue_microtask`](Self::queue_microtask), for those who must know.
    ///
    /// # Errors
    ///
    /// The microtask comes back if the loop has terminated.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().close();
    /// assert!(event_loop.cx().try_queue_microtask(|_| ()).is_err());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_queue_microtask<F>(&self, microtask: F) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&Cx) + 'static,
    {
        let queued = self.0.queue_microtask(microtask, Place::caller());
        self.0.shared.report_failure("queue_microtask", queued)
    }

    /// Queues a callback that runs before the microtasks of the next checkpoint, as Node's
    /// `process.nextTick`.
    ///
    /// All of these are run, then all microtasks, and so on until there are neither. They count for
    /// the microtask budget. Once the loop has terminated, the callback is dropped instead.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().next_tick(|cx| cx.shutdown());
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn next_tick<F>(&self, callback: F)
    where
        F: FnOnce(&Cx) + 'static,
    {
        self.0.next_tick(callback, Place::caller());
    }

    /// Leaves out the checkpoint after the present callback: its microtasks are run after the next callback of
    /// the phase, or when the phase has ended. Node does so after a callback that has thrown. From a callback only, and
    /// only if there is something to put off.
    ///
    /// ```
    /// use std::{cell::RefCell, rc::Rc};
    ///
    /// let log = Rc::new(RefCell::new(Vec::new()));
    /// let say = |what| {
    ///     let log = Rc::clone(&log);
    ///     move |_: &mainspring::Cx| log.borrow_mut().push(what)
    /// };
    /// let (first, microtask, second) = (say("first"), say("microtask"), say("second"));
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().submit(move |cx| {
    ///     first(cx);
    ///     cx.queue_microtask(microtask);
    ///     cx.put_off_checkpoint();
    /// })?;
    /// event_loop.cx().submit(second)?;
    /// event_loop.run_until_idle()?;
    /// assert_eq!(*log.borrow(), ["first", "second", "microtask"]);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn put_off_checkpoint(&self) {
        self.0.is_put_off.set(self.0.driven.get() && self.0.needs_checkpoint());
    }

    /// Queues a callback for the check phase of this tick, after the poll. If that has begun, for the
    /// check phase of the next one.
    ///
    /// Once the loop has terminated, the callback is dropped instead.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().set_immediate(|cx| cx.shutdown());
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn set_immediate<F>(&self, callback: F) -> ImmediateId
    where
        F: FnOnce(&Cx) + 'static,
    {
        self.0.set_immediate(callback, Place::caller())
    }

    /// Drops an immediate. Tells whether that kept it from running.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let id = event_loop.cx().set_immediate(|_| ());
    /// assert!(event_loop.cx().clear_immediate(id));
    /// assert!(!event_loop.cx().clear_immediate(id), "it is gone already");
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn clear_immediate(&self, id: ImmediateId) -> bool {
        self.0.clear_immediate(id)
    }

    /// Says whether an immediate keeps the loop alive, as Node's `ref` and `unref`. One that does not is run in
    /// the next check phase, but the loop may block before.
    ///
    /// # Errors
    ///
    /// [`Error::ImmediateNotFound`] if it has run, or was cleared.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let id = event_loop.cx().set_immediate(|_| unreachable!("nothing waits for it"));
    /// event_loop.cx().reference_immediate(id, false)?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn reference_immediate(&self, id: ImmediateId, referenced: bool) -> Result<(), Error> {
        let found = self.0.reference_immediate(id, referenced).ok_or(Error::ImmediateNotFound);
        self.0.shared.report_failure("reference_immediate", found)
    }

    /// Queues a callback for the end of the tick, after everything else: the place to let go of a
    /// resource that callbacks of this tick may still use.
    ///
    /// If that phase has begun, the callback waits for the next one. Once the loop has terminated, it
    /// is dropped instead.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().queue_close(|cx| cx.shutdown());
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn queue_close<F>(&self, callback: F)
    where
        F: FnOnce(&Cx) + 'static,
    {
        self.0.queue_close(callback, Place::caller());
    }

    /// Begins to shut the loop down, and returns at once: external tasks are refused from now on, and
    /// what is queued is run before the loop terminates.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().submit(|cx| cx.shutdown())?;
    /// event_loop.cx().submit(|_| println!("runs all the same"))?;
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn shutdown(&self) {
        let _ = self.handle().shutdown(Deadline::NEVER);
    }

    /// Terminates the loop after the present callback: what is queued is dropped.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().submit(|cx| cx.close())?;
    /// event_loop.cx().submit(|_| unreachable!("dropped"))?;
    /// event_loop.run()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn close(&self) {
        self.handle().close();
    }

    /// What the loop is doing.
    ///
    /// ```
    /// use mainspring::{EventLoop, LoopState};
    ///
    /// let event_loop = EventLoop::new()?;
    /// event_loop.cx().submit(|cx| assert_eq!(cx.state(), LoopState::Running))?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn state(&self) -> LoopState {
        self.0.shared.state()
    }

    /// Whether something is queued, or something that is referenced may still cause a callback: whether
    /// [`run_until_idle`](crate::EventLoop::run_until_idle) would go on.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// assert!(!event_loop.cx().is_alive());
    /// event_loop.cx().set_immediate(|_| ());
    /// assert!(event_loop.cx().is_alive());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.0.is_alive()
    }

    /// What the loop has done so far, to this moment. None unless it was built with
    /// [`Builder::metrics`](crate::Builder::metrics).
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().metrics(true).build()?;
    /// event_loop.run_until_idle()?;
    /// println!("{} ticks", event_loop.cx().metrics().unwrap().ticks);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn metrics(&self) -> Option<crate::Metrics> {
        let observer = self.0.observer()?;
        // What other threads have set counts, too.
        self.0.timers.accept(&self.0.shared.timers);
        Some(observer.metrics(&self.0))
    }

    /// The time at which the present tick began. It costs no look at the clock, and does not pass
    /// while a callback runs.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().submit(|cx| assert_eq!(cx.now(), cx.now()))?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn now(&self) -> Instant {
        instant(self.0.shared.clock.cached())
    }
}

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("state", &self.state()).finish_non_exhaustive()
    }
}

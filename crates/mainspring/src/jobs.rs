//! Job queues of script engines, as parts of the loop's microtask queue.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::local::Local;
use crate::observe::Observe;
use crate::phase::Phase;
use crate::tick::Tick;
use crate::{Cx, Queue};

/// The job queue of a script engine, which becomes a part of the loop's microtask queue by
/// [`Cx::attach_jobs`].
///
/// An engine queues the reactions of its promises by itself, and tells nobody. So each checkpoint asks it, and
/// runs its jobs and the loop's own microtasks in the one order in which they were queued: when a microtask is
/// queued while the engine has jobs, a [fence](Self::fence) is put behind them, and the microtask runs when
/// the engine comes to it. With more than one engine there is no such order, and no fence: the loop's own
/// microtasks run first, then the jobs of each engine, in the order in which the engines were attached.
///
/// A job is what ECMAScript calls one. The functions that workers run are not: [`Cause::Job`](crate::Cause::Job) and
/// `Metrics::jobs` are about those.
///
/// None of the methods is called while the engine runs a script, except [`has_jobs`](Self::has_jobs) and
/// `fence`, for microtasks that are queued by functions of the host.
///
/// ```
/// use mainspring::{Cx, EventLoop, Job, JobQueue};
/// use std::{cell::RefCell, collections::VecDeque, rc::Rc};
///
/// /// As engines go, a simple one.
/// #[derive(Default)]
/// struct Engine {
///     jobs: RefCell<VecDeque<Option<&'static str>>>,
///     log: RefCell<Vec<&'static str>>,
/// }
///
/// impl JobQueue for Engine {
///     fn has_jobs(&self) -> bool {
///         !self.jobs.borrow().is_empty()
///     }
///     fn run_job(&self, _: &Cx) -> Job {
///         match self.jobs.borrow_mut().pop_front() {
///             Some(Some(job)) => self.log.borrow_mut().push(job),
///             Some(None) => return Job::Fence,
///             None => return Job::None,
///         }
///         Job::Ran
///     }
///     fn fence(&self) -> bool {
///         self.jobs.borrow_mut().push_back(None);
///         true
///     }
/// }
///
/// let event_loop = EventLoop::new()?;
/// let engine = Rc::new(Engine::default());
/// event_loop.cx().attach_jobs(engine.clone());
/// engine.jobs.borrow_mut().push_back(Some("job"));
/// let same = Rc::clone(&engine);
/// event_loop.cx().queue_microtask(move |_| same.log.borrow_mut().push("microtask"));
/// engine.jobs.borrow_mut().push_back(Some("another job"));
/// event_loop.run_until_idle()?;
/// assert_eq!(*engine.log.borrow(), ["job", "microtask", "another job"]);
/// # Ok::<(), mainspring::Error>(())
/// ```
pub trait JobQueue {
    /// Whether there is a job.
    fn has_jobs(&self) -> bool;

    /// Runs the job that was queued first.
    ///
    /// A job that throws has been run; to report it is the engine's business.
    fn run_job(&self, cx: &Cx) -> Job;

    /// Puts a fence behind all jobs: [`run_job`](Self::run_job) takes it out and says [`Job::Fence`]. False if
    /// that is not possible: then the loop's own microtasks run before the engine's jobs, whichever were queued
    /// first.
    fn fence(&self) -> bool;

    /// Whether [`report`](Self::report) has something to do.
    fn has_reports(&self) -> bool {
        false
    }

    /// Called when the checkpoint has run everything: the time to judge which rejections stayed unhandled. What
    /// it queues is run by the same checkpoint.
    ///
    /// ```
    /// use mainspring::{Cx, EventLoop, Job, JobQueue};
    /// use std::{cell::RefCell, rc::Rc};
    ///
    /// struct Engine {
    ///     rejections: RefCell<Vec<&'static str>>,
    /// }
    ///
    /// impl JobQueue for Engine {
    ///     fn has_reports(&self) -> bool {
    ///         !self.rejections.borrow().is_empty()
    ///     }
    ///     fn report(&self, _: &Cx) {
    ///         for reason in self.rejections.take() {
    ///             eprintln!("nobody handles {reason}");
    ///         }
    ///     }
    /// #   fn has_jobs(&self) -> bool { false }
    /// #   fn run_job(&self, _: &Cx) -> Job { Job::None }
    /// #   fn fence(&self) -> bool { false }
    ///     // And the others.
    /// }
    ///
    /// let event_loop = EventLoop::new()?;
    /// let engine = Rc::new(Engine { rejections: RefCell::new(vec!["an error"]) });
    /// event_loop.cx().attach_jobs(engine.clone());
    /// event_loop.cx().submit(|_| ())?;
    /// event_loop.run_until_idle()?;
    /// assert!(!engine.has_reports());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    fn report(&self, cx: &Cx) {
        let _ = cx;
    }
}

/// What [`JobQueue::run_job`] did.
///
/// ```
/// assert_ne!(mainspring::Job::Ran, mainspring::Job::Fence);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// A job was run.
    Ran,
    /// A fence was taken out.
    Fence,
    /// There was none.
    None,
}

/// Names what [`Cx::attach_jobs`] attached.
///
/// ```
/// # struct Engine;
/// # impl mainspring::JobQueue for Engine {
/// #     fn has_jobs(&self) -> bool { false }
/// #     fn run_job(&self, _: &mainspring::Cx) -> mainspring::Job { mainspring::Job::None }
/// #     fn fence(&self) -> bool { false }
/// # }
/// let event_loop = mainspring::EventLoop::new()?;
/// let id = event_loop.cx().attach_jobs(std::rc::Rc::new(Engine));
/// assert!(event_loop.cx().detach_jobs(id));
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JobQueueId(u64);

struct Attached {
    id: JobQueueId,
    queue: Rc<dyn JobQueue>,
}

/// The queues that are attached to a loop.
#[derive(Default)]
pub(crate) struct Jobs {
    attached: RefCell<Vec<Attached>>,
    /// How many there are.
    count: Cell<usize>,
    next_id: Cell<u64>,
    /// How many of the loop's own microtasks wait for a fence: the last ones that were queued.
    fenced: Cell<usize>,
    /// Whether there are queues, or microtasks are guarded.
    is_unusual: Cell<bool>,
    is_guarded: bool,
}

impl Jobs {
    /// If they are guarded, the loop's own microtasks are not queued as they are.
    pub(crate) fn new(is_guarded: bool) -> Self {
        Self { is_unusual: Cell::new(is_guarded), is_guarded, ..Self::default() }
    }

    /// Whether something has to be done before a microtask of the loop's own is queued, or it is guarded.
    #[inline]
    pub(crate) fn is_unusual(&self) -> bool {
        self.is_unusual.get()
    }

    fn set_count(&self, count: usize) {
        self.count.set(count);
        self.is_unusual.set(count != 0 || self.is_guarded);
    }

    #[inline]
    pub(crate) fn is_attached(&self) -> bool {
        self.count.get() != 0
    }

    /// Whether an engine has a job.
    #[inline]
    pub(crate) fn has_jobs(&self) -> bool {
        self.is_attached() && self.any(|queue| queue.has_jobs())
    }

    /// Whether an engine has a job, or something to report.
    #[inline]
    pub(crate) fn is_pending(&self) -> bool {
        self.is_attached() && self.any(|queue| queue.has_jobs() || queue.has_reports())
    }

    #[cold]
    fn any(&self, is_so: impl Fn(&dyn JobQueue) -> bool) -> bool {
        self.attached.borrow().iter().any(|attached| is_so(&*attached.queue))
    }

    /// How many of the loop's own microtasks wait for a fence.
    #[inline]
    pub(crate) fn fenced(&self) -> usize {
        self.fenced.get()
    }

    /// A microtask of the loop's own is about to be queued. With more than one engine there is no order between
    /// them, and the loop's own microtasks come first.
    #[inline]
    pub(crate) fn before_push(&self) {
        if self.is_attached() {
            self.fence_off();
        }
    }

    #[cold]
    fn fence_off(&self) {
        let only = match &**self.attached.borrow() {
            [only] => Rc::clone(&only.queue),
            _ => return,
        };
        if only.has_jobs() && only.fence() {
            self.fenced.set(self.fenced.get() + 1);
        }
    }

    fn at(&self, index: usize) -> Option<Rc<dyn JobQueue>> {
        self.attached.borrow().get(index).map(|attached| Rc::clone(&attached.queue))
    }

    /// Runs a job of the first engine that has one. False if none has.
    fn run(&self, cx: &Cx) -> bool {
        let mut index = 0;
        while let Some(queue) = self.at(index) {
            index += 1;
            match queue.run_job(cx) {
                Job::Ran => {}
                Job::Fence => self.fenced.set(self.fenced.get().saturating_sub(1)),
                Job::None => continue,
            }
            return true;
        }
        // Nothing is left that could wait in front of a microtask.
        self.fenced.set(0);
        false
    }

    /// Lets go of all.
    pub(crate) fn clear(&self) {
        self.set_count(0);
        self.fenced.set(0);
        let attached = std::mem::take(&mut *self.attached.borrow_mut());
        crate::fault::drop_isolated(attached);
    }
}

impl Local {
    /// Whether the microtask that was queued first may run before the jobs that the engine has.
    #[inline]
    fn is_first_free(&self) -> bool {
        let fenced = self.jobs.fenced();
        fenced == 0 || self.shared.microtasks.held() > fenced
    }
}

impl Cx {
    /// Makes the job queue of a script engine a part of this loop's microtask queue. See [`JobQueue`].
    ///
    /// It stays attached until [`detach_jobs`](Self::detach_jobs) or the end of the loop.
    ///
    /// ```
    /// # struct Engine;
    /// # impl mainspring::JobQueue for Engine {
    /// #     fn has_jobs(&self) -> bool { false }
    /// #     fn run_job(&self, _: &mainspring::Cx) -> mainspring::Job { mainspring::Job::None }
    /// #     fn fence(&self) -> bool { false }
    /// # }
    /// let event_loop = mainspring::EventLoop::new()?;
    /// event_loop.cx().attach_jobs(std::rc::Rc::new(Engine));
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn attach_jobs(&self, queue: Rc<dyn JobQueue>) -> JobQueueId {
        let jobs = &self.0.jobs;
        let id = JobQueueId(jobs.next_id.get());
        jobs.next_id.set(id.0 + 1);
        if !self.0.finished.get() {
            jobs.attached.borrow_mut().push(Attached { id, queue });
            jobs.set_count(jobs.count.get() + 1);
        }
        id
    }

    /// Detaches an engine: its jobs are its own again. Tells whether it was attached.
    ///
    /// ```
    /// # struct Engine;
    /// # impl mainspring::JobQueue for Engine {
    /// #     fn has_jobs(&self) -> bool { false }
    /// #     fn run_job(&self, _: &mainspring::Cx) -> mainspring::Job { mainspring::Job::None }
    /// #     fn fence(&self) -> bool { false }
    /// # }
    /// let event_loop = mainspring::EventLoop::new()?;
    /// let id = event_loop.cx().attach_jobs(std::rc::Rc::new(Engine));
    /// assert!(event_loop.cx().detach_jobs(id));
    /// assert!(!event_loop.cx().detach_jobs(id));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn detach_jobs(&self, id: JobQueueId) -> bool {
        let jobs = &self.0.jobs;
        let found = {
            let mut attached = jobs.attached.borrow_mut();
            let index = attached.iter().position(|attached| attached.id == id);
            index.map(|index| attached.remove(index))
        };
        let was_attached = found.is_some();
        if was_attached {
            jobs.set_count(jobs.count.get() - 1);
            jobs.fenced.set(0);
        }
        crate::fault::drop_isolated(found);
        was_attached
    }
}

impl<O: Observe> Tick<'_, O> {
    /// Microtasks and jobs, in the order in which they were queued, until there are neither.
    #[cold]
    pub(crate) fn drain_with_jobs(self) {
        let local = &*self.cx.0;
        let inbox = &local.shared.microtasks;
        while self.cx.may_run_microtask() {
            self.observe.microtask_begins(local, Phase::Microtasks);
            if local.is_first_free()
                && let Some(task) = self.take(Queue::Microtasks, || local.microtasks.pop(inbox))
            {
                local.ran.set(local.ran.get() + 1);
                crate::task::Run::run(task, self.cx);
            } else if local.jobs.run(self.cx) {
                local.ran.set(local.ran.get() + 1);
            } else if local.microtasks.is_ready(inbox) {
                continue;
            } else {
                return;
            }
            self.observe.microtask_ends(local, Phase::Microtasks);
        }
    }

    /// The checkpoint has run everything: engines judge their rejections.
    pub(crate) fn report_jobs(self) {
        let jobs = &self.cx.0.jobs;
        let mut index = 0;
        while let Some(queue) = jobs.at(index) {
            index += 1;
            if queue.has_reports() && self.cx.may_run_microtask() {
                self.cx.0.ran.set(self.cx.0.ran.get() + 1);
                queue.report(self.cx);
            }
        }
    }
}

//! Rejections that nobody has handled, until the end of the checkpoint.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;

use super::Panicked;
use super::id::PromiseId;
use super::mode::{LoopBound, Mode, Shareable};
use super::reference::Ref;
use super::rejection::LocalRejection;
use crate::fault::log_isolated;
use crate::local::Local;
use crate::{Cx, Error};

/// A promise was rejected, and nobody had attached a handler when the microtasks were done.
///
/// ```
/// use mainspring::{EventLoop, LocalPromise};
///
/// let event_loop = EventLoop::builder()
///     .on_unhandled_rejection(|cx, rejection| {
///         eprintln!("{rejection}");
///         cx.shutdown();
///     })
///     .build()?;
/// LocalPromise::<()>::reject(event_loop.cx(), std::fmt::Error);
/// event_loop.run()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct UnhandledRejection {
    id: PromiseId,
    reason: LocalRejection,
}

impl UnhandledRejection {
    /// Names the promise. The hook for rejections that were handled after all is told the same.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder()
    /// .on_unhandled_rejection(|_, rejection| eprintln!("promise {}", rejection.id()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> PromiseId {
        self.id
    }

    /// Why it was rejected.
    ///
    /// ```
    /// # let event_loop = mainspring::EventLoop::builder()
    /// .on_unhandled_rejection(|_, rejection| eprintln!("{}", rejection.reason()))
    /// # .build()?; Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn reason(&self) -> &LocalRejection {
        &self.reason
    }
}

impl fmt::Display for UnhandledRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a promise was rejected, and nobody handled it: {}", self.reason)
    }
}

/// A promise of either kind.
pub(crate) enum Tracked {
    LoopBound(Ref<LoopBound>),
    Shareable(Ref<Shareable>),
}

impl Tracked {
    /// What to report, unless a handler was attached in time.
    fn report(&self) -> Option<UnhandledRejection> {
        match self {
            Self::LoopBound(promise) => report(promise),
            Self::Shareable(promise) => report(promise),
        }
    }
}

fn report<M: Mode>(promise: &Ref<M>) -> Option<UnhandledRejection> {
    let reason = promise.reason();
    let is_end = matches!(reason.downcast_ref(), Some(Error::Terminated | Error::PromiseAbandoned));
    // A handler's panic was reported when it happened.
    let is_known = is_end || reason.downcast_ref().is_some_and(Panicked::was_reported);
    (!is_known && promise.report()).then(|| UnhandledRejection { id: promise.id(), reason })
}

/// The capacity that is kept when there is nothing to report.
const KEEP: usize = 1024;

/// After so many checkpoints that had to stop, what is there counts as old.
const STOPS: u32 = 16;

/// What the end of the checkpoint has to look at, in order.
pub(crate) struct Rejections {
    /// Promises that nobody had handled when they were rejected.
    rejected: RefCell<VecDeque<Tracked>>,
    /// Those that were reported, and then somebody handled them.
    handled: RefCell<VecDeque<PromiseId>>,
    /// How many there are of both.
    waiting: Cell<u32>,
    /// How many of the rejected ones have waited for long.
    old: Cell<usize>,
    /// How often a checkpoint had to stop since those were counted.
    stops: Cell<u32>,
}

impl Rejections {
    pub(crate) const fn new() -> Self {
        Self {
            rejected: RefCell::new(VecDeque::new()),
            handled: RefCell::new(VecDeque::new()),
            waiting: Cell::new(0),
            old: Cell::new(0),
            stops: Cell::new(0),
        }
    }

    pub(super) fn track(&self, local: &Local, promise: Tracked) {
        if local.accepts() {
            self.rejected.borrow_mut().push_back(promise);
            self.waiting.set(self.waiting.get() + 1);
        }
    }

    pub(super) fn handled(&self, local: &Local, id: PromiseId) {
        if local.accepts() {
            self.handled.borrow_mut().push_back(id);
            self.waiting.set(self.waiting.get() + 1);
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.get() == 0
    }

    /// Drops all of it.
    pub(crate) fn end(&self) {
        self.waiting.set(0);
        self.handled.take();
        self.rejected.take().into_iter().for_each(crate::fault::drop_isolated);
    }

    /// Takes the first one of a queue.
    fn pop<T>(&self, queue: &RefCell<VecDeque<T>>) -> Option<T> {
        let mut queue = queue.borrow_mut();
        let item = queue.pop_front()?;
        self.waiting.set(self.waiting.get() - 1);
        if queue.is_empty() && queue.capacity() > KEEP {
            // A burst does not cost memory for ever.
            *queue = VecDeque::new();
        }
        Some(item)
    }
}

impl Cx {
    /// Reports what stayed unhandled in the checkpoint that has just come to its end. As in Node, those that were
    /// handled after all come first.
    #[cold]
    pub(crate) fn report_rejections(&self) {
        let rejections = &self.0.rejections;
        let handled = rejections.handled.borrow().len();
        let rejected = rejections.rejected.borrow().len();
        // A report is a callback like others: it counts for the budget.
        for _ in 0..handled {
            if !self.may_run_microtask() {
                return;
            }
            self.report_handled();
        }
        for _ in 0..rejected {
            if !self.may_run_microtask() {
                return;
            }
            self.report_rejected();
        }
    }

    /// A checkpoint had to stop, and goes on in the next tick. What has waited for many of them is not put off
    /// again: the microtasks may never come to their end.
    #[cold]
    pub(crate) fn report_old_rejections(&self) {
        let rejections = &self.0.rejections;
        let stops = rejections.stops.get() + 1;
        rejections.stops.set(stops % STOPS);
        if stops < STOPS {
            return;
        }
        for _ in 0..rejections.old.get() {
            if self.0.may_go_on() {
                self.report_rejected();
            }
        }
        rejections.old.set(rejections.rejected.borrow().len());
    }

    fn report_handled(&self) {
        let local = &*self.0;
        let Some(id) = local.rejections.pop(&local.rejections.handled) else { return };
        local.ran.set(local.ran.get() + 1);
        let hook = &local.hooks.rejection_handled;
        self.call_hook(|| hook.call(|hook| hook(self, id)));
    }

    fn report_rejected(&self) {
        let local = &*self.0;
        let old = &local.rejections.old;
        let Some(promise) = local.rejections.pop(&local.rejections.rejected) else { return };
        old.set(old.get().saturating_sub(1));
        local.ran.set(local.ran.get() + 1);
        let Some(rejection) = promise.report() else { return };
        let hook = &local.hooks.unhandled_rejection;
        if hook.is_set() {
            self.call_hook(|| hook.call(|hook| hook(self, rejection)));
        } else {
            log_isolated(|| tracing::error!("{rejection}"));
        }
    }
}

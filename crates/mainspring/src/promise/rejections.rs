//! Rejections that nobody has handled, until the end of the checkpoint.

use std::cell::RefCell;
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

enum Item {
    /// Nobody had handled it when it was rejected.
    Rejected(Tracked),
    /// It was reported, and then somebody handled it.
    Handled(PromiseId),
}

/// What the end of the checkpoint has to look at, in order.
#[derive(Default)]
pub(crate) struct Rejections(RefCell<VecDeque<Item>>);

impl Rejections {
    pub(crate) const fn new() -> Self {
        Self(RefCell::new(VecDeque::new()))
    }

    pub(super) fn track(&self, local: &Local, promise: Tracked) {
        self.push(local, Item::Rejected(promise));
    }

    pub(super) fn handled(&self, local: &Local, id: PromiseId) {
        self.push(local, Item::Handled(id));
    }

    fn push(&self, local: &Local, item: Item) {
        if local.accepts() {
            self.0.borrow_mut().push_back(item);
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    fn pop(&self) -> Option<Item> {
        self.0.borrow_mut().pop_front()
    }

    /// Drops all of it.
    pub(crate) fn end(&self) {
        let items = std::mem::take(&mut *self.0.borrow_mut());
        items.into_iter().for_each(crate::fault::drop_isolated);
    }
}

impl Cx {
    /// Reports what stayed unhandled in the checkpoint that has just come to its end.
    #[cold]
    pub(crate) fn report_rejections(&self) {
        let local = &*self.0;
        let count = local.rejections.0.borrow().len();
        for _ in 0..count {
            // A report is a callback like others: it counts for the budget.
            if !self.may_run_microtask() {
                return;
            }
            let Some(item) = local.rejections.pop() else { return };
            local.ran.set(local.ran.get() + 1);
            match item {
                Item::Rejected(promise) => {
                    let Some(rejection) = promise.report() else { continue };
                    let hook = &local.hooks.unhandled_rejection;
                    if hook.is_set() {
                        self.call_hook(|| hook.call(|hook| hook(self, rejection)));
                    } else {
                        log_isolated(|| tracing::error!("{rejection}"));
                    }
                }
                Item::Handled(id) => {
                    let hook = &local.hooks.rejection_handled;
                    self.call_hook(|| hook.call(|hook| hook(self, id)));
                }
            }
        }
    }
}

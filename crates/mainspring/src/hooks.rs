//! Functions of the embedder that the loop calls.

use std::cell::Cell;

use crate::fault::{UncaughtPanic, drop_isolated};
use crate::{Cx, Error, PromiseId, UnhandledRejection};

/// Something that deserves attention, though the loop goes on.
///
/// ```
/// use mainspring::{Diagnostic, EventLoop};
///
/// let event_loop = EventLoop::builder()
///     .on_diagnostic(|_, diagnostic| match diagnostic {
///         Diagnostic::MicrotaskBudget { pending, .. } => eprintln!("{pending} microtasks put off"),
///         other => eprintln!("{other:?}"),
///     })
///     .build()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Diagnostic {
    /// A checkpoint ran as many microtasks as it may. The rest waits for the next tick.
    #[non_exhaustive]
    MicrotaskBudget {
        /// How many wait.
        pending: usize,
    },
    /// The internal lane ran suspiciously many tasks in one tick, and has not come to its end.
    #[non_exhaustive]
    InternalFlood {
        /// How many it ran.
        ran: usize,
    },
}

/// The external lane has more tasks than one tick may run.
///
/// ```
/// use mainspring::EventLoop;
///
/// let event_loop = EventLoop::builder()
///     .on_overload(|_, overload| eprintln!("{} tasks are waiting", overload.pending))
///     .build()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overload {
    /// How many tasks wait in the lane.
    pub pending: usize,
}

/// A hook, taken out while it runs, so that nothing is borrowed then.
pub(crate) struct HookCell<F: ?Sized> {
    hook: Cell<Option<Box<F>>>,
    is_set: Cell<bool>,
}

impl<F: ?Sized> HookCell<F> {
    pub(crate) fn set(&self, hook: Box<F>) {
        self.hook.set(Some(hook));
        self.is_set.set(true);
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.get()
    }

    /// Takes the hook, gives it to `f`, and puts it back, also after a panic.
    pub(crate) fn call(&self, f: impl FnOnce(&mut F)) {
        struct PutBack<'a, F: ?Sized>(&'a HookCell<F>, Option<Box<F>>);
        impl<F: ?Sized> Drop for PutBack<'_, F> {
            fn drop(&mut self) {
                // Unless it was cleared meanwhile.
                if self.0.is_set.get() {
                    self.0.hook.set(self.1.take());
                }
            }
        }
        let mut taken = PutBack(self, self.hook.take());
        if let Some(hook) = taken.1.as_deref_mut() {
            f(hook);
        }
    }

    fn clear(&self) {
        self.is_set.set(false);
        drop_isolated(self.hook.take());
    }
}

impl<F: ?Sized> Default for HookCell<F> {
    fn default() -> Self {
        Self { hook: Cell::new(None), is_set: Cell::new(false) }
    }
}

/// A hook at the boundary of a phase.
pub(crate) type PhaseHook = HookCell<dyn FnMut(&Cx)>;

/// A hook that is told something.
pub(crate) type EventHook<T> = HookCell<dyn FnMut(&Cx, T)>;

/// The hook for what ends the loop.
pub(crate) type ErrorHook = HookCell<dyn FnMut(&Cx, &Error)>;

#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) prepare: PhaseHook,
    pub(crate) check: PhaseHook,
    pub(crate) idle: PhaseHook,
    pub(crate) before_exit: PhaseHook,
    pub(crate) overload: EventHook<Overload>,
    pub(crate) diagnostic: EventHook<Diagnostic>,
    pub(crate) uncaught: EventHook<UncaughtPanic>,
    pub(crate) error: ErrorHook,
    pub(crate) unhandled_rejection: EventHook<UnhandledRejection>,
    pub(crate) rejection_handled: EventHook<PromiseId>,
}

impl Hooks {
    /// Drops them all: they may hold the loop's own context.
    pub(crate) fn clear(&self) {
        for hook in [&self.prepare, &self.check, &self.idle, &self.before_exit] {
            hook.clear();
        }
        self.overload.clear();
        self.diagnostic.clear();
        self.uncaught.clear();
        self.error.clear();
        self.unhandled_rejection.clear();
        self.rejection_handled.clear();
    }
}

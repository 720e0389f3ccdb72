//! Telling a hook of what happened, in order, from whichever thread, with no lock held.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::fault::log_isolated;
use crate::sync::{Mutex, lock};

/// A function of the embedder that any thread may call.
pub(crate) type Hook<T> = Arc<dyn Fn(&T) + Send + Sync>;

/// Calls a hook. A panic of it is not the loop's, and gets no further.
pub(super) fn tell<T>(hook: Option<&Hook<T>>, about: &T) {
    if let Some(hook) = hook
        && catch_unwind(AssertUnwindSafe(|| hook(about))).is_err()
    {
        log_isolated(|| tracing::error!("a hook of the maximum-safety profile panicked"));
    }
}

/// Something that happens in steps, which have to be told in their order.
#[derive(Debug)]
pub(super) struct Teller<S, T> {
    inner: Mutex<Inner<S, T>>,
}

#[derive(Debug)]
struct Inner<S, T> {
    state: S,
    untold: VecDeque<T>,
    /// Whether a thread is at it.
    is_being_told: bool,
}

impl<S, T> Teller<S, T> {
    pub(super) fn new(state: S) -> Self {
        Self { inner: Mutex::new(Inner { state, untold: VecDeque::new(), is_being_told: false }) }
    }

    /// Makes a step, which says what is to be told of it.
    pub(super) fn step<R>(&self, step: impl FnOnce(&mut S) -> (R, Option<T>)) -> R {
        let mut inner = lock(&self.inner);
        let (result, event) = step(&mut inner.state);
        inner.untold.extend(event);
        result
    }

    /// Tells of what was not told yet, unless another thread, or the hook that calls this, is at it.
    pub(super) fn tell(&self, hook: Option<&Hook<T>>) {
        loop {
            let next = {
                let mut inner = lock(&self.inner);
                if inner.is_being_told {
                    return;
                }
                let Some(next) = inner.untold.pop_front() else { return };
                inner.is_being_told = true;
                next
            };
            tell(hook, &next);
            lock(&self.inner).is_being_told = false;
        }
    }
}

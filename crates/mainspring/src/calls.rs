//! Calling functions of the embedder.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::Cx;
use crate::fault::{PanicPolicy, UncaughtPanic, drop_isolated, log_isolated};
use crate::hooks::{Diagnostic, Overload, PhaseHook};
use crate::phase::Phase;

impl Cx {
    /// Begins the end of the loop if the condition of `run_until_aborted` holds.
    #[inline]
    pub(crate) fn check_stop(&self) {
        if self.0.stop.borrow().is_some() {
            self.ask_stop();
        }
    }

    #[cold]
    fn ask_stop(&self) {
        let local = &*self.0;
        let Some(mut stop) = local.stop.take() else {
            return;
        };
        let mut stopped = false;
        self.call_hook(|| stopped = stop());
        local.stop.replace(Some(stop));
        if stopped {
            local.shared.begin_termination(false);
        }
    }

    /// Calls a hook at the boundary of a phase, unless the loop is to end.
    #[inline]
    pub(crate) fn run_hook(&self, hook: &PhaseHook) {
        if hook.is_set() {
            self.run_hook_that_is_set(hook);
        }
    }

    #[cold]
    fn run_hook_that_is_set(&self, hook: &PhaseHook) {
        if self.0.may_go_on() {
            self.call_hook(|| hook.call(|hook| hook(self)));
        }
    }

    /// Calls a function of the embedder.
    pub(crate) fn call_hook(&self, hook: impl FnOnce()) {
        let before = self.0.phase.replace(Phase::Hook);
        #[cfg(feature = "metrics")]
        let observed = self.0.observer().map(|observer| (observer, observer.hook_begins(&self.0)));
        let caught = catch_unwind(AssertUnwindSafe(hook));
        #[cfg(feature = "metrics")]
        if let Some((observer, from)) = observed {
            observer.hook_ends(before, from);
        }
        if let Err(payload) = caught {
            self.uncaught(payload);
        }
        self.0.phase.set(before);
    }

    pub(crate) fn report(&self, diagnostic: Diagnostic) {
        let hook = &self.0.hooks.diagnostic;
        if hook.is_set() {
            self.call_hook(|| hook.call(|hook| hook(self, diagnostic)));
        } else {
            log_isolated(|| tracing::warn!(?diagnostic, "the loop cannot keep up"));
        }
    }

    /// Deals with a panic as the policy says.
    pub(crate) fn uncaught(&self, payload: Box<dyn Any + Send>) {
        let local = &*self.0;
        #[cfg(feature = "metrics")]
        if let Some(observer) = local.observer() {
            observer.panicked();
        }
        let safety = local.shared.safety.as_ref();
        if safety.is_some_and(|safety| safety.is_violated()) {
            // Not the callback's doing, and told already.
            resume_unwind(payload);
        }
        let details = safety.map(|safety| safety.panicked(local.phase.get(), &*payload));
        if local.config.panic_policy == PanicPolicy::Propagate {
            resume_unwind(payload);
        }
        let loop_id = local.shared.id;
        let panic = UncaughtPanic::new(local.phase.get(), payload, loop_id, details);
        let hook = &local.hooks.uncaught;
        if !hook.is_set() {
            log_isolated(|| tracing::error!("{panic}"));
            drop_isolated(panic);
            return;
        }
        let called = catch_unwind(AssertUnwindSafe(|| hook.call(|hook| hook(self, panic))));
        if let Err(payload) = called {
            let details = safety.map(|safety| safety.panicked(Phase::Hook, &*payload));
            let panic = UncaughtPanic::new(Phase::Hook, payload, loop_id, details);
            log_isolated(|| tracing::error!("{panic}, while it dealt with another panic"));
            drop_isolated(panic);
        }
    }

    /// External tasks were left behind because the budget of the tick was spent.
    pub(crate) fn overloaded(&self, overload: Overload) {
        #[cfg(feature = "metrics")]
        if let Some(observer) = self.0.observer() {
            observer.overloaded();
        }
        self.call_hook(|| self.0.hooks.overload.call(|hook| hook(self, overload)));
    }
}

//! Who is called when something happens.

use std::sync::Arc;

use super::Builder;
use crate::fault::UncaughtPanic;
use crate::hooks::{Diagnostic, Overload};
use crate::safety::{Fault, StageEvent, Transition};
use crate::{Cx, Error, PromiseId, UnhandledRejection};

/// # Hooks
impl Builder {
    /// Called with every [stall](Self::stall_threshold), when it is found and once more when it is over. Without a
    /// hook it is logged as a warning.
    ///
    /// It is called on a thread of its own, as the loop's is not to be had. A panic of it is logged.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let event_loop = mainspring::EventLoop::builder()
    ///     .stall_threshold(Duration::from_millis(100))
    ///     .on_stall(|stall| eprintln!("{stall}"))
    ///     .build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[cfg(feature = "metrics")]
    pub fn on_stall(mut self, hook: impl FnMut(&crate::Stall) + Send + 'static) -> Self {
        self.stall_hook = Some(Box::new(hook));
        self
    }

    /// Called in every tick right before the loop polls.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().on_prepare(|_| ()).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_prepare(self, hook: impl FnMut(&Cx) + 'static) -> Self {
        self.hooks.prepare.set(Box::new(hook));
        self
    }

    /// Called in every tick after the poll and its callbacks, before the immediates.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().on_check(|_| ()).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_check(self, hook: impl FnMut(&Cx) + 'static) -> Self {
        self.hooks.check.set(Box::new(hook));
        self
    }

    /// Called when there is nothing to run, before the loop blocks. If it queues something, the loop
    /// does not block.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().on_idle(|_| ()).build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_idle(self, hook: impl FnMut(&Cx) + 'static) -> Self {
        self.hooks.idle.set(Box::new(hook));
        self
    }

    /// Called when [`run_until_idle`](crate::EventLoop::run_until_idle) found nothing alive. If it queues
    /// something, the loop goes on, and the hook is called again later.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder().on_before_exit(|_| ()).build()?;
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_before_exit(self, hook: impl FnMut(&Cx) + 'static) -> Self {
        self.hooks.before_exit.set(Box::new(hook));
        self
    }

    /// Called once in each tick that leaves external tasks behind because its budget was spent.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder()
    ///     .on_overload(|_, overload| eprintln!("{} are waiting", overload.pending))
    ///     .build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_overload(self, hook: impl FnMut(&Cx, Overload) + 'static) -> Self {
        self.hooks.overload.set(Box::new(hook));
        self
    }

    /// Called with what deserves attention. Without a hook it is logged as a warning.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder()
    ///     .on_diagnostic(|_, diagnostic| eprintln!("{diagnostic:?}"))
    ///     .build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_diagnostic(self, hook: impl FnMut(&Cx, Diagnostic) + 'static) -> Self {
        self.hooks.diagnostic.set(Box::new(hook));
        self
    }

    /// Called with every panic that left a callback, under [`PanicPolicy::Isolate`](crate::PanicPolicy::Isolate). Without a hook
    /// it is logged as an error. A panic of the hook itself is logged.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder()
    ///     .on_uncaught(|_, panic| eprintln!("{panic}"))
    ///     .build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_uncaught(self, hook: impl FnMut(&Cx, UncaughtPanic) + 'static) -> Self {
        self.hooks.uncaught.set(Box::new(hook));
        self
    }

    /// Called with every promise that was rejected, and to which nobody had attached a handler when the
    /// microtasks were done: once, right after them. Without a hook it is logged as an error.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder()
    ///     .on_unhandled_rejection(|_, rejection| eprintln!("{}", rejection.reason()))
    ///     .build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_unhandled_rejection(
        self,
        hook: impl FnMut(&Cx, UnhandledRejection) + 'static,
    ) -> Self {
        self.hooks.unhandled_rejection.set(Box::new(hook));
        self
    }

    /// Called when somebody attaches a handler to a promise that was reported as
    /// [unhandled](Self::on_unhandled_rejection).
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder()
    ///     .on_rejection_handled(|_, id| eprintln!("promise {id} was handled after all"))
    ///     .build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_rejection_handled(self, hook: impl FnMut(&Cx, PromiseId) + 'static) -> Self {
        self.hooks.rejection_handled.set(Box::new(hook));
        self
    }

    /// Called after each change of the loop's [state](crate::LoopState), in their order, on the thread that made it or one that
    /// made another meanwhile. Needs [`Profile::MaximumSafety`](crate::Profile::MaximumSafety).
    ///
    /// ```
    /// use mainspring::{EventLoop, Profile};
    ///
    /// let event_loop = EventLoop::builder()
    ///     .profile(Profile::MaximumSafety)
    ///     .on_transition(|change| println!("from {} to {}", change.from, change.to))
    ///     .build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_transition(mut self, hook: impl Fn(&Transition) + Send + Sync + 'static) -> Self {
        self.config.safety_hooks.transition = Some(Arc::new(hook));
        self
    }

    /// Called when a stage of the end of the loop begins and when it is over, in their order. Needs
    /// [`Profile::MaximumSafety`](crate::Profile::MaximumSafety).
    ///
    /// ```
    /// use mainspring::{EventLoop, Profile};
    ///
    /// let event_loop = EventLoop::builder()
    ///     .profile(Profile::MaximumSafety)
    ///     .on_shutdown_stage(|event| println!("{}: {}", event.stage, event.is_over))
    ///     .build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_shutdown_stage(mut self, hook: impl Fn(&StageEvent) + Send + Sync + 'static) -> Self {
        self.config.safety_hooks.stage = Some(Arc::new(hook));
        self
    }

    /// Called when something goes wrong: a call that fails, a callback that panics, an invariant of the loop that is
    /// broken. On the thread where that happens, until the loop has ended. Needs [`Profile::MaximumSafety`](crate::Profile::MaximumSafety).
    ///
    /// ```
    /// use mainspring::{EventLoop, Profile};
    ///
    /// let event_loop = EventLoop::builder()
    ///     .profile(Profile::MaximumSafety)
    ///     .on_fault(|fault| eprintln!("{fault}"))
    ///     .build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_fault(mut self, hook: impl Fn(&Fault) + Send + Sync + 'static) -> Self {
        self.config.safety_hooks.fault = Some(Arc::new(hook));
        self
    }

    /// Called when the poller failed for good, before the loop shuts down because of it. Without a
    /// hook it is logged as an error.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::builder()
    ///     .on_error(|_, error| eprintln!("{error}"))
    ///     .build()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn on_error(self, hook: impl FnMut(&Cx, &Error) + 'static) -> Self {
        self.hooks.error.set(Box::new(hook));
        self
    }
}

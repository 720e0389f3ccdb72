//! One tick, and the phases that it consists of.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use crate::fault::{PanicPolicy, Phase, UncaughtPanic};
use crate::hooks::{Diagnostic, Overload, PhaseHook};
use crate::inbox::Inbox;
use crate::lane::Lane;
use crate::task::{SendTask, Task};
use crate::{Cx, Error};

/// How many callbacks of an endless phase are run between two looks at the stop condition.
const STOP_INTERVAL: usize = 1024;

/// For how long the poll may block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// Until something happens.
    Forever,
    /// Until something happens, or this time has come.
    Until(Instant),
    /// Until something happens, if something can happen that the loop is to wait for.
    WhileAlive,
}

impl Cx {
    /// One tick.
    pub(crate) fn tick(&self, wait: Wait) -> Result<(), Error> {
        self.refresh_time();
        // Due timers have their place here.
        self.run_internal();
        self.run_external();
        self.run_microtasks();
        self.poll(wait)?;
        // I/O callbacks have their place here.
        self.run_microtasks();
        self.run_immediates();
        self.run_closes();
        self.renew_allowance();
        Ok(())
    }

    fn refresh_time(&self) {
        self.0.shared.clock.refresh();
    }

    /// The internal lane, to its end.
    fn run_internal(&self) {
        let local = &*self.0;
        let mut ran = 0_usize;
        self.run_phase(Phase::Internal, || {
            if ran == local.config.internal_flood_mark {
                self.report(Diagnostic::InternalFlood { ran });
            }
            if ran % STOP_INTERVAL == STOP_INTERVAL - 1 {
                self.check_stop();
            }
            ran += 1;
            local.internal.pop(&local.shared.internal)
        });
    }

    /// The external lane, up to its budget.
    fn run_external(&self) {
        let local = &*self.0;
        let inbox = &local.shared.external;
        let mut budget = local.config.external_budget;
        self.run_phase(Phase::External, || {
            budget = budget.checked_sub(1)?;
            local.external.pop(inbox)
        });
        if budget == 0 && local.external.is_ready(inbox) {
            let overload = Overload { pending: inbox.len() };
            self.call_hook(|| local.hooks.overload.call(|hook| hook(self, overload)));
        }
    }

    /// A lane without a budget, to its end.
    pub(crate) fn run_lane(&self, phase: Phase, lane: &Lane, inbox: &Inbox<SendTask>) {
        self.run_phase(phase, || lane.pop(inbox));
    }

    /// The check phase: the immediates that are there when it begins.
    pub(crate) fn run_immediates(&self) {
        let local = &*self.0;
        self.run_hook(&local.hooks.check);
        if local.immediates.len() == 0 {
            return;
        }
        let end = local.immediates.end();
        self.run_phase(Phase::Check, || {
            let task = local.immediates.pop_before(end)?;
            local.sub_aside();
            Some(task)
        });
    }

    /// The close callbacks that are there when the phase begins.
    pub(crate) fn run_closes(&self) {
        let local = &*self.0;
        let mut left = local.closes.len();
        if left == 0 {
            return;
        }
        self.run_phase(Phase::Close, || {
            left = left.checked_sub(1)?;
            local.sub_aside();
            local.closes.pop()
        });
    }

    /// Runs what `next` gives, each followed by a checkpoint, until it gives no more or the loop is
    /// to end. A panic ends the callback that it came from, and nothing else.
    fn run_phase(&self, phase: Phase, mut next: impl FnMut() -> Option<Task>) {
        let local = &*self.0;
        // One guard for all callbacks: entering it for each would cost more than many of them do.
        while let Err(payload) = catch_unwind(AssertUnwindSafe(|| {
            loop {
                self.checkpoint();
                local.phase.set(phase);
                if !local.may_go_on() {
                    return;
                }
                let Some(task) = next() else { return };
                local.ran.set(local.ran.get() + 1);
                task.run(self);
            }
        })) {
            self.uncaught(payload);
        }
    }

    /// A checkpoint by itself.
    pub(crate) fn run_microtasks(&self) {
        if self.0.has_microtasks() {
            self.run_phase(Phase::Microtasks, || None);
        }
    }

    /// Drains the `next_tick` queue and the microtasks, in turn, until both are empty or the budget is
    /// spent. To be called inside a guard.
    #[inline]
    fn checkpoint(&self) {
        if self.0.has_microtasks() && !self.0.breached.get() {
            self.drain_microtasks();
        }
    }

    fn drain_microtasks(&self) {
        let local = &*self.0;
        let inbox = &local.shared.microtasks;
        while local.has_microtasks() {
            local.phase.set(Phase::NextTicks);
            self.drain_queue(|| {
                let task = local.next_ticks.pop()?;
                local.sub_aside();
                Some(task)
            });
            local.phase.set(Phase::Microtasks);
            self.drain_queue(|| local.microtasks.pop(inbox));
            if local.breached.get() || !local.may_go_on() {
                return;
            }
        }
        // This checkpoint is complete; the next one has the whole budget again.
        self.restore_allowance();
    }

    #[inline]
    fn drain_queue(&self, mut next: impl FnMut() -> Option<Task>) {
        let local = &*self.0;
        while local.may_go_on() {
            let allowance = local.allowance.get();
            if allowance == 0 {
                if local.has_microtasks() && !local.breached.replace(true) {
                    let pending = local.shared.microtasks.len();
                    self.report(Diagnostic::MicrotaskBudget { pending });
                }
                return;
            }
            let Some(task) = next() else { return };
            local.allowance.set(allowance - 1);
            let ran = local.ran.get() + 1;
            local.ran.set(ran);
            if ran.is_multiple_of(STOP_INTERVAL as u64) {
                self.check_stop();
            }
            task.run(self);
        }
    }

    fn restore_allowance(&self) {
        self.0.allowance.set(self.0.config.microtask_budget);
    }

    /// A tick is over: what was put off may be run.
    pub(crate) fn renew_allowance(&self) {
        self.0.breached.set(false);
        self.restore_allowance();
    }

    /// Blocks until something happens, unless there is something to do.
    fn poll(&self, wait: Wait) -> Result<(), Error> {
        let local = &*self.0;
        self.run_hook(&local.hooks.prepare);
        if local.has_work() {
            return Ok(());
        }
        let deadline = match wait {
            Wait::Forever => None,
            Wait::Until(deadline) if deadline <= local.shared.clock.read() => return Ok(()),
            Wait::Until(deadline) => Some(deadline),
            Wait::WhileAlive if !local.is_alive() => return Ok(()),
            Wait::WhileAlive => None,
        };
        self.run_hook(&local.hooks.idle);
        let sleep = &local.shared.sleep;
        if local.has_work() || local.spin.wait(|| local.has_work() || !sleep.state.is_running()) {
            return Ok(());
        }
        sleep.sleep(local.shared.via(), deadline, || local.has_work())?;
        Ok(())
    }

    /// Begins the end of the loop if the condition of `run_until_aborted` holds.
    pub(crate) fn check_stop(&self) {
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

    pub(crate) fn run_hook(&self, hook: &PhaseHook) {
        if hook.is_set() {
            self.call_hook(|| hook.call(|hook| hook(self)));
        }
    }

    /// Calls a function of the embedder.
    pub(crate) fn call_hook(&self, hook: impl FnOnce()) {
        let before = self.0.phase.replace(Phase::Hook);
        let caught = catch_unwind(AssertUnwindSafe(hook));
        if let Err(payload) = caught {
            self.uncaught(payload);
        }
        self.0.phase.set(before);
    }

    fn report(&self, diagnostic: Diagnostic) {
        let hook = &self.0.hooks.diagnostic;
        if hook.is_set() {
            self.call_hook(|| hook.call(|hook| hook(self, diagnostic)));
        } else {
            tracing::warn!(?diagnostic, "the loop cannot keep up");
        }
    }

    /// Deals with a panic as the policy says.
    fn uncaught(&self, payload: Box<dyn Any + Send>) {
        let local = &*self.0;
        if local.config.panic_policy == PanicPolicy::Propagate {
            resume_unwind(payload);
        }
        let panic = UncaughtPanic::new(local.phase.get(), payload);
        let hook = &local.hooks.uncaught;
        if !hook.is_set() {
            tracing::error!("{panic}");
            return;
        }
        let called = catch_unwind(AssertUnwindSafe(|| hook.call(|hook| hook(self, panic))));
        if let Err(payload) = called {
            tracing::error!("{}, in the uncaught hook", UncaughtPanic::new(Phase::Hook, payload));
        }
    }
}

//! The checkpoint after a callback, and the budget that it has.

use crate::Cx;
use crate::Queue;
use crate::hooks::Diagnostic;
use crate::observe::Observe;
use crate::phase::Phase;
use crate::task::{Run, TakenTask};
use crate::tick::Tick;

/// How many callbacks are run between two looks at the stop condition, at the most.
const STOP_INTERVAL: u64 = 1024;

impl<O: Observe> Tick<'_, O> {
    /// A checkpoint by itself.
    #[inline]
    pub(crate) fn run_microtasks(self) {
        if self.cx.0.needs_checkpoint() {
            self.run_microtask_phase();
        }
    }

    /// Kept apart, so that the way past it is short.
    #[inline(never)]
    fn run_microtask_phase(self) {
        self.run_phase::<TakenTask>(Phase::Microtasks, || None);
    }

    /// Drains the `next_tick` queue and the microtasks, in turn, until both are empty or the budget is
    /// spent. To be called inside a guard.
    #[inline]
    pub(crate) fn checkpoint(self) {
        if self.cx.0.needs_checkpoint() && !self.cx.0.breached.get() {
            self.observed_checkpoint();
        }
    }

    /// Kept apart, so that the way past a checkpoint with nothing to do is short.
    #[inline(never)]
    fn observed_checkpoint(self) {
        self.observe.checkpoint_begins(&self.cx.0);
        self.drain_microtasks();
        self.observe.checkpoint_ends(&self.cx.0);
    }

    #[inline]
    fn drain_microtasks(self) {
        let local = &*self.cx.0;
        let inbox = &local.shared.microtasks;
        if local.is_put_off.replace(false) {
            return;
        }
        while local.needs_checkpoint() {
            local.phase.set(Phase::NextTicks);
            self.drain_queue(Phase::NextTicks, || {
                if local.is_put_off.get() {
                    return None;
                }
                self.take(Queue::NextTicks, || {
                    let task = local.next_ticks.pop_in_place()?;
                    local.sub_own_queued();
                    // SAFETY: the queue has given the task away.
                    Some(unsafe { TakenTask::new(task) })
                })
            });
            if local.is_put_off.replace(false) {
                return;
            }
            local.phase.set(Phase::Microtasks);
            if local.jobs.is_attached() {
                self.drain_with_jobs();
            } else {
                self.drain_queue(Phase::Microtasks, || {
                    self.take(Queue::Microtasks, || local.microtasks.pop(inbox))
                });
            }
            if local.breached.get() || !local.may_go_on() {
                return;
            }
            if !local.has_microtasks() {
                if !local.rejections.is_empty() {
                    self.cx.report_rejections();
                }
                if local.jobs.is_attached() {
                    self.report_jobs();
                }
            }
        }
    }

    #[inline]
    fn drain_queue(self, phase: Phase, mut next: impl FnMut() -> Option<TakenTask>) {
        let local = &*self.cx.0;
        while self.cx.may_run_microtask() {
            let Some(task) = next() else { return };
            self.observe.microtask_begins(local, phase);
            local.ran.set(local.ran.get() + 1);
            task.run(self.cx);
            self.observe.microtask_ends(local, phase);
        }
    }
}

impl Cx {
    /// Whether to go on with the next callback. Asks the stop condition now and then.
    #[inline]
    pub(crate) fn may_run_next(&self) -> bool {
        if self.0.ran.get() % STOP_INTERVAL == STOP_INTERVAL - 1 {
            self.check_stop();
        }
        self.0.may_go_on()
    }

    /// Whether to go on with the next callback of a checkpoint.
    #[inline]
    pub(crate) fn may_run_microtask(&self) -> bool {
        let local = &*self.0;
        if !self.may_run_next() {
            return false;
        }
        let is_spent = local.ran.get() - local.checkpoint.get() >= local.config.microtask_budget;
        if is_spent {
            self.breach();
        }
        !is_spent
    }

    /// The budget of a checkpoint is spent: what is left waits for the next tick.
    #[cold]
    fn breach(&self) {
        let local = &*self.0;
        if local.needs_checkpoint() && !local.breached.replace(true) {
            #[cfg(feature = "metrics")]
            if let Some(observer) = local.observer() {
                observer.breached();
            }
            let pending = local.shared.microtasks.len() + local.next_ticks.len();
            if pending != 0 {
                self.report(Diagnostic::MicrotaskBudget { pending });
            }
            self.report_old_rejections();
        }
    }

    /// What was put off may be run.
    pub(crate) fn renew_budget(&self) {
        self.0.breached.set(false);
    }
}

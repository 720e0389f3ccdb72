//! One tick, and the phases that it consists of.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::hooks::{Diagnostic, Overload};
use crate::immediate::ImmediateId;
use crate::inbox::Inbox;
use crate::lane::Lane;
use crate::observe::Observe;
use crate::phase::Phase;
use crate::poll::Wait;
use crate::task::{Run, SendTask, TakenTask};
use crate::{Cx, Error, Queue};

/// How many callbacks of descriptors are run between two checkpoints, at the most, if not one.
const IO_BATCH: u64 = 64;

/// What drives a loop through its phases, and tells an observer of it.
#[derive(Clone, Copy)]
pub(crate) struct Tick<'a, O> {
    pub(crate) cx: &'a Cx,
    pub(crate) observe: O,
}

impl<O: Observe> Tick<'_, O> {
    /// One tick.
    pub(crate) fn run(self, wait: Wait) -> Result<(), Error> {
        self.refresh_time();
        self.observe.tick_begins(&self.cx.0);
        self.run_timers();
        self.run_internal();
        self.run_futures();
        self.run_external();
        self.run_microtasks();
        self.scavenge();
        self.poll(wait)?;
        self.run_io();
        self.run_microtasks();
        self.check();
        self.run_closes();
        self.cx.renew_budget();
        self.observe.tick_ends(&self.cx.0);
        Ok(())
    }

    fn refresh_time(self) {
        self.cx.0.shared.clock.refresh();
    }

    /// The timers that are due at the cached time, and, if the loop is to catch up, those that become due
    /// meanwhile.
    fn run_timers(self) {
        let local = &*self.cx.0;
        local.ran_timers.set(false);
        while self.run_due_timers() && local.config.catches_up {
            self.refresh_time();
        }
    }

    /// The timers that are due at the cached time. Tells whether there were any.
    fn run_due_timers(self) -> bool {
        let local = &*self.cx.0;
        let remote = &local.shared.timers;
        let now = local.shared.clock.cached();
        let may_be_due = local.timers.begin(remote, now);
        if !may_be_due && !local.needs_checkpoint() {
            // Like every phase that has nothing to run.
            local.phase.set(Phase::Timers);
            return false;
        }
        let mut has_run = false;
        self.run_phase(Phase::Timers, || {
            let mut task =
                local.timers.pop_due(remote, now, |due| self.observe.timer_was_due(due))?;
            self.observe.note_timer(&mut task);
            has_run = true;
            // SAFETY: the handover gives the task away.
            Some(unsafe { TakenTask::new(local.timer_handover.put(task)) })
        });
        local.ran_timers.set(local.ran_timers.get() || has_run);
        has_run
    }

    /// The internal lane, to its end.
    fn run_internal(self) {
        let local = &*self.cx.0;
        let inbox = &local.shared.internal;
        if !local.internal.is_ready(inbox) {
            return;
        }
        let mut ran = 0;
        self.run_phase(Phase::Internal, || {
            if ran == local.config.internal_flood_mark && local.internal.is_ready(inbox) {
                self.cx.report(Diagnostic::InternalFlood { ran });
                if !local.may_go_on() {
                    return None;
                }
            }
            ran += 1;
            self.take(Queue::Internal, || local.internal.pop(inbox))
        });
    }

    /// The futures that were woken, up to their budget.
    pub(crate) fn run_futures(self) {
        self.cx.0.coop.renew();
        self.cx.0.wake_deferred();
        if self.cx.0.futures.has_woken() {
            let mut budget = self.cx.0.config.future_budget;
            self.run_phase(Phase::Futures, || {
                budget = budget.checked_sub(1)?;
                self.cx.0.next_future()
            });
        }
    }

    /// The external lane, up to its budget.
    fn run_external(self) {
        let local = &*self.cx.0;
        let inbox = &local.shared.external;
        if !local.external.is_ready(inbox) {
            return;
        }
        let mut budget = local.config.external_budget;
        self.run_phase(Phase::External, || {
            budget = budget.checked_sub(1)?;
            self.take(Queue::External, || local.external.pop(inbox))
        });
        if budget == 0 && local.may_go_on() && local.external.is_ready(inbox) {
            self.cx.overloaded(Overload { pending: inbox.len() });
        }
    }

    /// A lane without a budget, to its end.
    pub(crate) fn run_lane(self, phase: Phase, queue: Queue, lane: &Lane, inbox: &Inbox<SendTask>) {
        self.run_phase(phase, || self.take(queue, || lane.pop(inbox)));
    }

    /// Takes the next task out of a queue.
    #[inline(always)]
    pub(crate) fn take(
        &self,
        queue: Queue,
        pop: impl FnOnce() -> Option<TakenTask>,
    ) -> Option<TakenTask> {
        self.observe.take(&self.cx.0, queue, pop)
    }

    /// The callbacks of the descriptors that the poll found ready.
    fn run_io(self) {
        let local = &*self.cx.0;
        if local.watchers.has_events() {
            let next = || local.watchers.next(&local.shared);
            if local.config.strict_microtasks {
                self.run_phase(Phase::Io, next);
            } else {
                self.run_batches::<_, IO_BATCH>(Phase::Io, next);
            }
        }
        local.watchers.finish_batch(&local.shared);
    }

    /// The check phase: its hook, and the immediates that are there when it begins.
    fn check(self) {
        self.cx.run_hook(&self.cx.0.hooks.check);
        self.run_immediates(self.cx.0.immediates.end());
    }

    /// The immediates before `end`.
    pub(crate) fn run_immediates(self, end: ImmediateId) {
        let local = &*self.cx.0;
        if local.immediates.is_empty() {
            return;
        }
        self.run_phase(Phase::Check, || {
            self.take(Queue::Immediates, || {
                let (task, is_referenced) = local.immediates.pop_before(end)?;
                if is_referenced {
                    local.sub_own_queued();
                }
                // SAFETY: the handover gives the task away.
                Some(unsafe { TakenTask::new(local.handover.put(task)) })
            })
        });
    }

    /// The close callbacks that are there now.
    pub(crate) fn run_closes(self) {
        let local = &*self.cx.0;
        let mut left = local.closes.len();
        if left == 0 {
            return;
        }
        self.run_phase(Phase::Close, || {
            left = left.checked_sub(1)?;
            self.take(Queue::Closes, || {
                let task = local.closes.pop_in_place()?;
                local.sub_own_queued();
                // SAFETY: the queue has given the task away.
                Some(unsafe { TakenTask::new(task) })
            })
        });
    }

    /// Runs what `next` gives, each followed by a checkpoint, until it gives no more or the loop is
    /// to end. A panic ends the callback that it came from, and nothing else.
    pub(crate) fn run_phase<T: Run>(self, phase: Phase, next: impl FnMut() -> Option<T>) {
        self.run_batches::<T, 1>(phase, next);
    }

    /// Like [`run_phase`](Self::run_phase), with a checkpoint after so many callbacks.
    #[inline]
    fn run_batches<T: Run, const BATCH: u64>(
        &self,
        phase: Phase,
        mut next: impl FnMut() -> Option<T>,
    ) {
        let local = &*self.cx.0;
        local.checkpoint.set(local.ran.get());
        self.observe.phase_begins(local, phase);
        // One guard for all callbacks: entering it for each would cost more than many of them do.
        while let Err(payload) = catch_unwind(AssertUnwindSafe(|| {
            let mut batch = BATCH;
            loop {
                if batch == BATCH {
                    self.checkpoint();
                    batch = 0;
                }
                batch += 1;
                local.phase.set(phase);
                if !self.cx.may_run_next() {
                    return;
                }
                let Some(task) = next() else { return };
                let ran = local.ran.get() + 1;
                local.ran.set(ran);
                local.checkpoint.set(ran);
                self.observe.run(self.cx, phase, task);
            }
        })) {
            // Of this phase, or of the checkpoint after a callback of it.
            self.observe.panicked(local, local.phase.get());
            self.cx.uncaught(payload);
        }
        self.observe.phase_ends(local, phase);
    }

    /// Looks at some of the promises that are listed, and takes those out that need not be.
    fn scavenge(self) {
        self.cx.0.registry.scavenge(&self.cx.0.shared.newcomers);
    }
}

//! One tick, and the phases that it consists of.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::fault::{PanicPolicy, Phase, UncaughtPanic, drop_isolated, log_isolated};
use crate::hooks::{Diagnostic, Overload, PhaseHook};
use crate::immediate::ImmediateId;
use crate::inbox::Inbox;
use crate::lane::Lane;
use crate::local::Idle;
use crate::state::Via;
use crate::sys::{self, Poller};
use crate::task::{Ready, Run, SendTask};
use crate::{Cx, Error};

/// How many callbacks of descriptors are run between two checkpoints, at the most, if not one.
const IO_BATCH: u64 = 64;

/// How many callbacks are run between two looks at the stop condition, at the most.
const STOP_INTERVAL: u64 = 1024;

/// For how long the poll may block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// Until something happens.
    Forever,
    /// Until something happens, or the time has come; not at all if a callback was run since the
    /// count of callbacks was this one.
    Turn { deadline: Option<i64>, ran: u64 },
    /// Until something happens, if something can happen that the loop is to wait for.
    WhileAlive,
}

/// For how long the poll does block.
#[derive(Clone, Copy, Debug)]
enum Patience {
    /// Not at all.
    None,
    /// Not at all, and if nothing is ready, virtual time is advanced to there.
    Jump(i64),
    /// Until then, or until something happens.
    Until(Option<i64>),
}

/// The earlier one of two deadlines.
fn earlier(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}

impl Cx {
    /// One tick.
    pub(crate) fn tick(&self, wait: Wait) -> Result<(), Error> {
        self.refresh_time();
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
        self.renew_budget();
        Ok(())
    }

    fn refresh_time(&self) {
        self.0.shared.clock.refresh();
    }

    /// The timers that are due at the cached time, and, if the loop is to catch up, those that become due
    /// meanwhile.
    fn run_timers(&self) {
        let local = &*self.0;
        local.ran_timers.set(false);
        while self.run_due_timers() && local.config.catches_up {
            self.refresh_time();
        }
    }

    /// The timers that are due at the cached time. Tells whether there were any.
    fn run_due_timers(&self) -> bool {
        let local = &*self.0;
        let remote = &local.shared.timers;
        let now = local.shared.clock.cached();
        local.timers.begin(remote, now);
        let mut has_run = false;
        self.run_phase(Phase::Timers, || {
            let task = local.timers.pop_due(remote, now)?;
            has_run = true;
            // SAFETY: the landing gives the task away.
            Some(unsafe { Ready::new(local.timer_landing.put(task)) })
        });
        local.ran_timers.set(local.ran_timers.get() || has_run);
        has_run
    }

    /// The internal lane, to its end.
    fn run_internal(&self) {
        let local = &*self.0;
        let inbox = &local.shared.internal;
        if !local.internal.is_ready(inbox) {
            return;
        }
        let mut ran = 0;
        self.run_phase(Phase::Internal, || {
            if ran == local.config.internal_flood_mark && local.internal.is_ready(inbox) {
                self.report(Diagnostic::InternalFlood { ran });
                if !local.may_go_on() {
                    return None;
                }
            }
            ran += 1;
            local.internal.pop(inbox)
        });
    }

    /// The futures that were woken, up to their budget.
    pub(crate) fn run_futures(&self) {
        self.0.coop.renew();
        self.0.wake_deferred();
        if self.0.futures.has_woken() {
            let mut budget = self.0.config.future_budget;
            self.run_phase(Phase::Futures, || {
                budget = budget.checked_sub(1)?;
                self.0.next_future()
            });
        }
    }

    /// The external lane, up to its budget.
    fn run_external(&self) {
        let local = &*self.0;
        let inbox = &local.shared.external;
        if !local.external.is_ready(inbox) {
            return;
        }
        let mut budget = local.config.external_budget;
        self.run_phase(Phase::External, || {
            budget = budget.checked_sub(1)?;
            local.external.pop(inbox)
        });
        if budget == 0 && local.may_go_on() && local.external.is_ready(inbox) {
            let overload = Overload { pending: inbox.len() };
            self.call_hook(|| local.hooks.overload.call(|hook| hook(self, overload)));
        }
    }

    /// A lane without a budget, to its end.
    pub(crate) fn run_lane(&self, phase: Phase, lane: &Lane, inbox: &Inbox<SendTask>) {
        self.run_phase(phase, || lane.pop(inbox));
    }

    /// The callbacks of the descriptors that the poll found ready.
    fn run_io(&self) {
        let local = &*self.0;
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
    fn check(&self) {
        self.run_hook(&self.0.hooks.check);
        self.run_immediates(self.0.immediates.end());
    }

    /// The immediates before `end`.
    pub(crate) fn run_immediates(&self, end: ImmediateId) {
        let local = &*self.0;
        if local.immediates.is_empty() {
            return;
        }
        self.run_phase(Phase::Check, || {
            let (task, is_referenced) = local.immediates.pop_before(end)?;
            if is_referenced {
                local.sub_aside();
            }
            // SAFETY: the landing gives the task away.
            Some(unsafe { Ready::new(local.landing.put(task)) })
        });
    }

    /// The close callbacks that are there now.
    pub(crate) fn run_closes(&self) {
        let local = &*self.0;
        let mut left = local.closes.len();
        if left == 0 {
            return;
        }
        self.run_phase(Phase::Close, || {
            left = left.checked_sub(1)?;
            let task = local.closes.pop()?;
            local.sub_aside();
            // SAFETY: the landing gives the task away.
            Some(unsafe { Ready::new(local.landing.put(task)) })
        });
    }

    /// Runs what `next` gives, each followed by a checkpoint, until it gives no more or the loop is
    /// to end. A panic ends the callback that it came from, and nothing else.
    fn run_phase<T: Run>(&self, phase: Phase, next: impl FnMut() -> Option<T>) {
        self.run_batches::<T, 1>(phase, next);
    }

    /// Like [`run_phase`](Self::run_phase), with a checkpoint after so many callbacks.
    #[inline]
    fn run_batches<T: Run, const BATCH: u64>(
        &self,
        phase: Phase,
        mut next: impl FnMut() -> Option<T>,
    ) {
        let local = &*self.0;
        local.checkpoint.set(local.ran.get());
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
                if !self.may_run_next() {
                    return;
                }
                let Some(task) = next() else { return };
                let ran = local.ran.get() + 1;
                local.ran.set(ran);
                local.checkpoint.set(ran);
                task.run(self);
            }
        })) {
            self.uncaught(payload);
        }
    }

    /// Whether to go on with the next callback. Asks the stop condition now and then.
    #[inline]
    fn may_run_next(&self) -> bool {
        if self.0.ran.get() % STOP_INTERVAL == STOP_INTERVAL - 1 {
            self.check_stop();
        }
        self.0.may_go_on()
    }

    /// A checkpoint by itself.
    pub(crate) fn run_microtasks(&self) {
        if self.0.needs_checkpoint() {
            self.run_phase::<Ready>(Phase::Microtasks, || None);
        }
    }

    /// Drains the `next_tick` queue and the microtasks, in turn, until both are empty or the budget is
    /// spent. To be called inside a guard.
    #[inline]
    fn checkpoint(&self) {
        if self.0.needs_checkpoint() && !self.0.breached.get() {
            self.drain_microtasks();
        }
    }

    fn drain_microtasks(&self) {
        let local = &*self.0;
        let inbox = &local.shared.microtasks;
        if local.is_put_off.replace(false) {
            return;
        }
        while local.needs_checkpoint() {
            local.phase.set(Phase::NextTicks);
            self.drain_queue(|| {
                if local.is_put_off.get() {
                    return None;
                }
                let task = local.next_ticks.pop_in_place()?;
                local.sub_aside();
                // SAFETY: the queue has given the task away.
                Some(unsafe { Ready::new(task) })
            });
            if local.is_put_off.replace(false) {
                return;
            }
            local.phase.set(Phase::Microtasks);
            if local.jobs.is_attached() {
                self.drain_with_jobs();
            } else {
                self.drain_queue(|| local.microtasks.pop(inbox));
            }
            if local.breached.get() || !local.may_go_on() {
                return;
            }
            if !local.has_microtasks() {
                self.report_rejections();
                self.report_jobs();
            }
        }
    }

    #[inline]
    fn drain_queue(&self, mut next: impl FnMut() -> Option<Ready>) {
        let local = &*self.0;
        while self.may_run_microtask() {
            let Some(task) = next() else { return };
            local.ran.set(local.ran.get() + 1);
            task.run(self);
        }
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
            let pending = local.shared.microtasks.len() + local.next_ticks.len();
            if pending != 0 {
                self.report(Diagnostic::MicrotaskBudget { pending });
            }
            self.report_old_rejections();
        }
    }

    /// Looks at some of the promises that are listed, and takes those out that need not be.
    fn scavenge(&self) {
        self.0.registry.scavenge(&self.0.shared.newcomers);
    }

    /// What was put off may be run.
    pub(crate) fn renew_budget(&self) {
        self.0.breached.set(false);
    }

    /// Looks for descriptors that are ready. Blocks until there is one, something else happens, or a timer is
    /// due, unless there is something to do.
    fn poll(&self, wait: Wait) -> Result<(), Error> {
        let local = &*self.0;
        let shared = &*local.shared;
        self.run_hook(&local.hooks.prepare);
        if local.watchers.has_events() {
            // A panic has left the rest of a batch.
            return Ok(());
        }
        match self.patience(wait) {
            Patience::None => self.look(),
            Patience::Jump(deadline) => {
                self.look()?;
                if let Some(clock) = &shared.clock.virtual_clock
                    && !local.watchers.has_events()
                {
                    clock.jump(deadline, shared);
                }
                Ok(())
            }
            Patience::Until(deadline) => self.block(deadline),
        }
    }

    /// For how long the poll may block.
    fn patience(&self, wait: Wait) -> Patience {
        let local = &*self.0;
        let shared = &*local.shared;
        if local.has_own_work() {
            return Patience::None;
        }
        let limit = match wait {
            Wait::Forever => None,
            Wait::Turn { ran, .. } if ran != local.ran.get() => return Patience::None,
            Wait::Turn { deadline, .. } => deadline,
            Wait::WhileAlive if !self.is_worth_waiting() => return Patience::None,
            Wait::WhileAlive => None,
        };
        if limit.is_some_and(|limit| limit <= shared.limit_clock()) {
            return Patience::None;
        }
        let Some(mut idle) = local.look_idle() else { return Patience::None };
        if local.hooks.idle.is_set() {
            self.run_hook(&local.hooks.idle);
            if matches!(wait, Wait::WhileAlive) && !self.is_worth_waiting() {
                return Patience::None;
            }
            let Some(after) = local.look_idle() else { return Patience::None };
            idle = after;
        }
        let Idle { next, now, is_held } = idle;
        match &shared.clock.virtual_clock {
            None if local.ran_timers.get() => {
                // Many timers follow each other closely: several are run each time the loop wakes up.
                let slack = now.saturating_add(local.config.timer_slack);
                Patience::Until(earlier(limit, next.map(|next| next.max(slack))))
            }
            None => Patience::Until(earlier(limit, next)),
            Some(clock) if clock.is_auto() && !is_held => {
                earlier(limit, next).map_or(Patience::Until(None), Patience::Jump)
            }
            // Virtual deadlines come when somebody says so, and then the loop is woken. A turn waits in
            // real time meanwhile.
            Some(_) => Patience::Until(limit.map(|limit| {
                sys::now().saturating_add(limit.saturating_sub(shared.limit_clock()))
            })),
        }
    }

    /// Whether something can happen that the loop is to wait for. Watchers that nothing would ever tell of are
    /// removed first, which looks at sources of the user.
    fn is_worth_waiting(&self) -> bool {
        let local = &*self.0;
        local.phase.set(Phase::Io);
        let swept = catch_unwind(AssertUnwindSafe(|| local.watchers.sweep(&local.shared)));
        if let Err(payload) = swept {
            self.uncaught(payload);
        }
        local.is_alive()
    }

    /// Looks for descriptors that are ready, and does not block.
    fn look(&self) -> Result<(), Error> {
        let local = &*self.0;
        // A loop with a host consumes what made the host come.
        let is_needed = local.shared.io.is_used() || local.hosted.get();
        if !is_needed || !local.may_go_on() {
            return Ok(());
        }
        let look = |poller: &Poller, events: &mut _| {
            poller.wait(events, Some(sys::AT_ONCE))?;
            Ok(true)
        };
        local.watchers.fill(&local.shared, look).map(drop)
    }

    /// Blocks.
    fn block(&self, deadline: Option<i64>) -> Result<(), Error> {
        let local = &*self.0;
        let shared = &*local.shared;
        let sleep = &shared.sleep;
        let via = shared.via();
        // Descriptors are not seen while spinning.
        if !shared.io.is_used()
            && local.spin.wait(deadline, || local.has_work() || !sleep.state.is_running())
        {
            return Ok(());
        }
        match via {
            Via::Park => sleep.park(deadline, || local.has_work()),
            Via::Poll => {
                let poll = |poller: &Poller, events: &mut _| {
                    sleep.poll(poller, events, deadline, || local.has_work())
                };
                // Work that comes at the last moment does not keep the descriptors from being looked at.
                if local.watchers.fill(shared, poll)? { Ok(()) } else { self.look() }
            }
        }
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

    /// Calls a hook at the boundary of a phase, unless the loop is to end.
    pub(crate) fn run_hook(&self, hook: &PhaseHook) {
        if hook.is_set() && self.0.may_go_on() {
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
            log_isolated(|| tracing::warn!(?diagnostic, "the loop cannot keep up"));
        }
    }

    /// Deals with a panic as the policy says.
    pub(crate) fn uncaught(&self, payload: Box<dyn Any + Send>) {
        let local = &*self.0;
        if local.config.panic_policy == PanicPolicy::Propagate {
            resume_unwind(payload);
        }
        let panic = UncaughtPanic::new(local.phase.get(), payload);
        let hook = &local.hooks.uncaught;
        if !hook.is_set() {
            log_isolated(|| tracing::error!("{panic}"));
            drop_isolated(panic);
            return;
        }
        let called = catch_unwind(AssertUnwindSafe(|| hook.call(|hook| hook(self, panic))));
        if let Err(payload) = called {
            let panic = UncaughtPanic::new(Phase::Hook, payload);
            log_isolated(|| tracing::error!("{panic}, while it dealt with another panic"));
            drop_isolated(panic);
        }
    }
}

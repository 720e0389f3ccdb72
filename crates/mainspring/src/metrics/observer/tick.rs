//! What a tick tells, and how its time is divided among phases, checkpoints and callbacks.

use std::cell::Cell;

use super::Observer;
use crate::local::Local;
use crate::metrics::figures::{EACH_CHECKPOINT, EACH_TICK, LATENESS, TICK};
use crate::metrics::shown::Activity;
use crate::observe::Observe;
use crate::task::{Run, TimerTask};
use crate::{Cx, Phase, sys};

impl Observe for &Observer {
    type Decision = ();

    fn decides(self) {}

    fn enters(self) {
        let now = sys::now();
        let (_, ended) = self.mark.get();
        self.mark.set((now, ended));
        // What was before was not the loop's time.
        self.figures.borrow_mut().last = now;
        self.becomes(Activity::Busy);
    }

    fn tick_begins(self, local: &Local) {
        if self.is_followed {
            self.end_callback();
            self.shown.set_phase(Phase::Timers);
        }
        let mut figures = self.figures.borrow_mut();
        self.waited.set(0);
        if self.ticks.begins(0) {
            figures.look(local, &EACH_TICK);
        }
        self.tick.set(figures.last);
        #[cfg(feature = "spans")]
        {
            let number = figures.counts.ticks;
            drop(figures);
            self.spans.tick_begins(number);
        }
    }

    fn tick_ends(self, local: &Local) {
        #[cfg(feature = "spans")]
        self.spans.tick_ends();
        let (_, now) = self.advance(local, false);
        {
            let mut figures = self.figures.borrow_mut();
            self.trace.tick(figures.counts.ticks, (self.tick.get(), now));
            figures.counts.ticks += 1;
            if self.ticks.is_measuring() {
                figures.record(TICK, now - self.tick.get() - self.waited.get());
                self.ticks.measured();
            }
            figures.count(now, local.ran.get());
        }
        self.publish_now_and_then(local, now);
    }

    #[inline]
    fn phase_begins(self, local: &Local, phase: Phase) {
        let ran = local.ran.get();
        self.phase.set(phase);
        self.started.set((ran, self.checkpointed.get()));
        self.told.set(ran);
        self.await_next(phase, ran);
    }

    #[inline]
    fn phase_ends(self, local: &Local, phase: Phase) {
        let ran = local.ran.get();
        if self.started.get().0 != ran {
            // Microtasks are told to theirs one by one.
            if phase != Phase::Microtasks {
                self.samplers[phase as usize].skip(ran - self.told.replace(ran));
            }
            self.settle(local);
            self.account(local, phase);
            #[cfg(feature = "spans")]
            self.spans.phase_ends();
        }
    }

    #[inline]
    fn timer_was_due(self, deadline: i64) {
        self.due.set(deadline);
    }

    #[inline]
    fn note_timer(self, task: &mut TimerTask) {
        if self.is_followed {
            self.timer_place.set(task.origin().place);
        }
    }

    #[inline]
    fn run(self, cx: &Cx, phase: Phase, callback: impl Run) {
        #[cfg(feature = "spans")]
        if !self.spans.is_in_phase() {
            self.spans.phase_begins(phase);
        }
        if cx.0.ran.get() < self.next.get() {
            callback.run(cx);
        } else {
            self.run_followed(cx, phase, callback);
        }
    }

    fn panicked(self, local: &Local, phase: Phase) {
        self.end_checkpoint(local);
        self.callback_ends(local, phase);
    }

    #[inline]
    fn checkpoint_begins(self, local: &Local) {
        self.checkpoint.set(Some(local.ran.get()));
        if self.checkpoints.begins(0) {
            self.checkpoints.from.set(self.look(local.ran.get(), false));
            self.draining.set(Phase::Microtasks);
            self.figures.borrow_mut().look(local, &EACH_CHECKPOINT);
        }
    }

    #[inline]
    fn checkpoint_ends(self, local: &Local) {
        self.end_checkpoint(local);
        if self.checkpoints.is_measuring() {
            self.drained_until(self.look(local.ran.get(), false));
            self.checkpoints.measured();
        }
    }

    #[inline]
    fn microtask_begins(self, local: &Local, phase: Phase) {
        if phase != self.draining.get() && self.checkpoints.is_measuring() {
            self.drained_until(sys::now());
            self.draining.set(phase);
        }
        let sampler = &self.samplers[phase as usize];
        if sampler.begins(if self.is_followed { u32::MAX } else { 0 }) {
            self.begins(phase, None);
            if sampler.is_measuring() {
                // It is not counted yet.
                sampler.from.set(self.look(local.ran.get(), true));
            }
        }
    }

    #[inline]
    fn microtask_ends(self, local: &Local, phase: Phase) {
        Observer::callback_ends(self, local, phase);
    }

    fn looked(self, local: &Local) {
        self.account(local, Phase::Io);
    }

    fn waits(self, local: &Local) {
        self.advance(local, false);
        self.becomes(Activity::Idle);
    }

    fn blocks(self, local: &Local) {
        self.publish(local, Activity::Idle);
    }

    fn goes_on(self, local: &Local) {
        let (from, to) = self.advance(local, true);
        self.trace.sleep((from, to), local.shared.sleep.last_signal.take());
        self.waited.set(self.waited.get() + to - from);
        self.becomes(Activity::Busy);
    }
}

impl Observer {
    /// A phase has run something, and ends.
    #[cold]
    fn account(&self, local: &Local, phase: Phase) {
        let hooks = self.hooks.take();
        let (from, now) = self.advance(local, false);
        let passed = (now - from - hooks).max(0);
        self.trace.phase(phase, (from, now));
        // What was measured stands for what was not, so it can be more than there is.
        let [next_ticks, microtasks] = self.drained.each_ref().map(Cell::take);
        let next_ticks = next_ticks.min(passed);
        let microtasks = microtasks.min(passed - next_ticks);
        let mut figures = self.figures.borrow_mut();
        figures.counts.phase_times[Phase::NextTicks as usize] += next_ticks;
        figures.counts.phase_times[Phase::Microtasks as usize] += microtasks;
        figures.counts.phase_times[phase as usize] += passed - next_ticks - microtasks;
    }

    /// A checkpoint that is measured has run callbacks of one kind until now.
    #[cold]
    fn drained_until(&self, now: i64) {
        let drained = &self.drained[usize::from(self.draining.get() == Phase::Microtasks)];
        let took = now - self.checkpoints.from.replace(now);
        drained.set(drained.get() + took * i64::from(self.checkpoints.weight()));
    }

    /// Callbacks of the present phase, without those of checkpoints.
    pub(super) fn ran_in_phase(&self, local: &Local) -> u64 {
        let (ran, checkpointed) = self.started.get();
        let present = self.checkpoint.get().map_or(0, |before| local.ran.get() - before);
        (local.ran.get() - ran).saturating_sub(self.checkpointed.get() + present - checkpointed)
    }

    /// Counts the callbacks of the present phase.
    pub(super) fn settle(&self, local: &Local) {
        self.end_checkpoint(local);
        let own = &self.ran[self.phase.get() as usize];
        own.set(own.get() + self.ran_in_phase(local));
        self.started.set((local.ran.get(), self.checkpointed.get()));
    }

    /// Counts what the checkpoint has run that ends.
    #[inline]
    fn end_checkpoint(&self, local: &Local) {
        if let Some(before) = self.checkpoint.take() {
            self.checkpointed.set(self.checkpointed.get() + local.ran.get() - before);
        }
    }

    /// Finds out which callback is looked at next, when so many have been run.
    #[inline]
    fn await_next(&self, phase: Phase, ran: u64) {
        let left = self.samplers[phase as usize].left();
        self.next.set(if self.is_followed { 0 } else { ran + u64::from(left) });
    }

    /// Runs a callback that is measured, or that somebody follows.
    #[cold]
    fn run_followed(&self, cx: &Cx, phase: Phase, callback: impl Run) {
        self.follow(&cx.0, phase, &callback);
        callback.run(cx);
        self.callback_ends(&cx.0, phase);
    }

    fn callback_ends(&self, local: &Local, phase: Phase) {
        if self.samplers[phase as usize].is_measuring() {
            self.measured(local, phase);
        }
        if self.is_followed {
            self.end_callback();
        }
    }

    fn follow(&self, local: &Local, phase: Phase, callback: &impl Run) {
        let place = match phase {
            Phase::Timers => self.timer_place.take(),
            _ => callback.place(),
        };
        self.begins(phase, place);
        let sampler = &self.samplers[phase as usize];
        let passed = local.ran.get() - self.told.get();
        if passed < u64::from(sampler.left()) {
            return;
        }
        sampler.skip_to(passed);
        self.told.set(local.ran.get());
        // It is counted already.
        let now = self.look(local.ran.get() - 1, true);
        sampler.from.set(now);
        if phase == Phase::Timers {
            let clock = &local.shared.clock;
            let now = if clock.virtual_clock.is_some() { clock.cached() } else { now };
            let late = now.saturating_sub(self.due.get());
            self.figures.borrow_mut().record(LATENESS, late);
        }
    }

    /// A callback that was measured has ended.
    #[cold]
    fn measured(&self, local: &Local, phase: Phase) {
        let sampler = &self.samplers[phase as usize];
        let time @ (from, to) = (sampler.from.get(), sys::now());
        sampler.measured();
        self.mark.set((to, local.ran.get()));
        self.trace.callback(phase, self.shown.place(), time, self.stamp.take());
        self.figures.borrow_mut().record_run(to - from);
        self.publish_now_and_then(local, to);
        if phase == self.phase.get() {
            self.await_next(phase, local.ran.get());
        }
    }
}

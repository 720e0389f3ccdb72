//! Who is told of what a loop does, and makes figures of it.

use std::cell::{Cell, RefCell, RefMut};
use std::panic::Location;
use std::sync::Arc;
#[cfg(not(loom))]
use std::time::Instant;

use super::figures::{EACH_CHECKPOINT, EACH_TICK, Figures, LATENESS, TICK, WAIT};
use super::report::Edition;
use super::sampler::{BURST, MAX_STRIDE, PERIOD, SURPRISE, Sampler, stride};
use super::shown::{Activity, Shown};
use super::snapshot::Metrics;
#[cfg(feature = "spans")]
use super::spans::Spans;
use super::trace::Trace;
use crate::builder::Config;
use crate::local::Local;
use crate::observe::Observe;
use crate::place::Place;
use crate::shared::Shared;
use crate::stamp::Stamp;
use crate::sync::Ordering;
use crate::task::{Run, Task, TimerTask};
use crate::{Cx, Phase, Queue, sys};

/// How long the figures that others see are behind at the most, while the loop is busy, in nanoseconds.
const STALE: i64 = 1_000_000;

/// Belongs to the loop's thread. No borrow is held while code of the user runs.
pub(crate) struct Observer {
    shown: Arc<Shown>,
    figures: RefCell<Figures>,
    edition: RefCell<Edition>,
    /// The number by which the watchdog knows the callback that runs, if it is odd.
    beat: Cell<u64>,
    /// Of the callbacks of each phase, and of the microtasks after them.
    samplers: [Sampler; Phase::ALL.len()],
    /// Of ticks.
    ticks: Sampler,
    /// Of checkpoints.
    checkpoints: Sampler,
    /// Of what the loop's own thread queues.
    queued: Sampler,
    /// When the next timer to be run was due, and where it was set.
    due: Cell<i64>,
    timer_place: Cell<Option<&'static Location<'static>>>,
    /// When the present tick began, and how long it has waited.
    tick: Cell<i64>,
    waited: Cell<i64>,
    /// The time of next ticks and of microtasks in the present phase, and which of both the present checkpoint runs.
    drained: [Cell<i64>; 2],
    draining: Cell<Phase>,
    /// The time of hooks, which is in no phase.
    hooks: Cell<i64>,
    /// The present phase, and how many callbacks, and how many in checkpoints, had been run when it began.
    phase: Cell<Phase>,
    started: Cell<(u64, u64)>,
    /// How many callbacks had been run when its sampler was told of them.
    told: Cell<u64>,
    /// The number of callbacks of which the last one is looked at: the next one that is measured, or each if somebody follows
    /// them.
    next: Cell<u64>,
    /// How many callbacks of each phase there were, except for those of checkpoints.
    ran: [Cell<u64>; Phase::ALL.len()],
    /// How many there were in checkpoints, and how many callbacks had been run when the present one began, if there is one.
    checkpointed: Cell<u64>,
    checkpoint: Cell<Option<u64>>,
    /// Whether somebody follows the callbacks.
    is_followed: bool,
    published: Cell<i64>,
    /// When, and after how many entries, the rate of what other threads hand over was looked at.
    arrivals: Cell<(i64, u64)>,
    /// How many times were noted since.
    stamps: Cell<u32>,
    /// One of how many entries of other threads has its time noted.
    arrival_stride: Cell<u32>,
    /// When the callback that runs was queued, if that was noted.
    stamp: Cell<Stamp>,
    /// When the clock was last looked at, and how many callbacks had been run.
    mark: Cell<(i64, u64)>,
    trace: Trace,
    #[cfg(feature = "spans")]
    spans: Spans,
}

impl Observer {
    pub(crate) fn new(shown: &Arc<Shown>, shared: &Shared, config: &Config) -> Self {
        let now = sys::now();
        let trace = Trace::new(config);
        if trace.is_on() {
            shared.sleep.last_signal.trace();
        }
        let sampler = |seed| Sampler::new(seed, trace.is_on());
        Self {
            shown: Arc::clone(shown),
            figures: RefCell::new(Figures::new(now)),
            edition: RefCell::new(Edition::new()),
            beat: Cell::new(0),
            samplers: std::array::from_fn(|index| sampler(index as u32)),
            ticks: sampler(10),
            checkpoints: sampler(11),
            queued: sampler(12),
            due: Cell::new(0),
            timer_place: Cell::new(None),
            tick: Cell::new(now),
            waited: Cell::new(0),
            drained: [Cell::new(0), Cell::new(0)],
            draining: Cell::new(Phase::Microtasks),
            hooks: Cell::new(0),
            phase: Cell::new(Phase::External),
            started: Cell::new((0, 0)),
            told: Cell::new(0),
            next: Cell::new(0),
            ran: Default::default(),
            checkpointed: Cell::new(0),
            checkpoint: Cell::new(None),
            is_followed: shown.is_followed(),
            published: Cell::new(now),
            arrivals: Cell::new((now, 0)),
            stamps: Cell::new(0),
            arrival_stride: Cell::new(1),
            stamp: Cell::default(),
            mark: Cell::new((now, 0)),
            trace,
            #[cfg(feature = "spans")]
            spans: Spans::default(),
        }
    }

    /// A task of the loop's own thread, with what is to be noted about it.
    pub(crate) fn task<F>(&self, callback: F, place: Place) -> Task
    where
        F: FnOnce(&Cx) + 'static,
    {
        let stamp = self.stamp_next();
        if self.shown.is_noted(stamp) {
            Task::noted(callback, place, stamp)
        } else {
            Task::new(callback)
        }
    }

    /// The time of what the loop's own thread queues next, if that is to be noted.
    pub(crate) fn stamp_next(&self) -> Stamp {
        let is_stamped = self.queued.begins(0);
        if is_stamped {
            self.queued.measured();
        }
        if is_stamped { self.shown.stamp() } else { Stamp::default() }
    }

    /// The callback that has begun was queued there and then.
    #[inline]
    pub(crate) fn note_callback(&self, local: &Local, place: Place, stamp: Stamp) {
        self.shown.set_place(place.get());
        self.stamp.set(stamp);
        if stamp.is_set() {
            self.waited_since(local, local.phase.get(), stamp);
        }
    }

    #[cold]
    fn waited_since(&self, local: &Local, phase: Phase, stamp: Stamp) {
        let queue = match phase {
            Phase::External => Queue::External,
            Phase::Internal => Queue::Internal,
            Phase::Microtasks => Queue::Microtasks,
            Phase::NextTicks => Queue::NextTicks,
            Phase::Check => Queue::Immediates,
            Phase::Close => Queue::Closes,
            Phase::Timers | Phase::Futures | Phase::Io | Phase::Hook => return,
        };
        if !self.takes_in(local, WAIT + queue as usize) {
            return;
        }
        let sampler = &self.samplers[phase as usize];
        let now = if sampler.is_measuring() { sampler.from.get() } else { sys::now() };
        self.figures.borrow_mut().record(WAIT + queue as usize, stamp.before(now).cast_signed());
    }

    /// Whether a time that was noted is taken in. If there are many at once, others are told to note fewer, and some are not.
    fn takes_in(&self, local: &Local, latency: usize) -> bool {
        if self.trace.is_on() || self.figures.borrow().latencies[latency].count() < BURST {
            return true;
        }
        let taken = self.stamps.get() + 1;
        self.stamps.set(taken);
        if taken.is_multiple_of(SURPRISE) {
            self.note_one_of(local, (2 * self.arrival_stride.get()).min(MAX_STRIDE as u32));
        }
        taken <= 4 * SURPRISE
    }

    /// A function of the embedder is about to be called. Returns when that was.
    pub(crate) fn hook_begins(&self, local: &Local) -> i64 {
        self.begins(Phase::Hook, None);
        self.look(local.ran.get(), true)
    }

    /// It was called, in that phase, and had begun then.
    pub(crate) fn hook_ends(&self, phase: Phase, from: i64) {
        let to = sys::now();
        let (_, ended) = self.mark.get();
        self.mark.set((to, ended));
        self.end_callback();
        self.shown.set_phase(phase);
        self.trace.callback(Phase::Hook, None, (from, to), Stamp::default());
        self.figures.borrow_mut().counts.phase_times[Phase::Hook as usize] += to - from;
        self.hooks.set(self.hooks.get() + to - from);
    }

    pub(crate) fn panicked(&self) {
        self.figures.borrow_mut().counts.panics += 1;
        self.mark("panic");
    }

    /// What the callback that runs has done, as it says itself.
    #[cfg(not(loom))]
    pub(crate) fn slice(&self, name: &'static str, began: Instant, ended: Instant) {
        self.trace.slice(name, began, ended);
    }

    fn mark(&self, what: &'static str) {
        if self.trace.is_on() {
            self.trace.mark(what, sys::now());
        }
    }

    pub(crate) fn overloaded(&self) {
        self.figures.borrow_mut().counts.overloads += 1;
        self.mark("overload");
    }

    pub(crate) fn breached(&self) {
        self.figures.borrow_mut().counts.budget_breaches += 1;
        self.mark("microtask budget");
    }

    /// The call that drives the loop ends.
    pub(crate) fn leaves(&self, local: &Local) {
        // A panic may have left a tick, and what is open in it.
        self.settle(local);
        #[cfg(feature = "spans")]
        self.spans.tick_ends();
        self.advance(local, false);
        self.publish(local, Activity::Away);
    }

    /// The loop is at its end.
    pub(crate) fn ends(&self, local: &Local) {
        self.publish(local, Activity::Away);
        if let Some(watchdog) = &self.shown.watchdog {
            watchdog.end();
        }
    }

    /// What is known at this moment. Others see it from then on, so that nobody is told less later.
    pub(crate) fn metrics(&self, local: &Local) -> Metrics {
        let activity = if local.driven.get() { Activity::Busy } else { Activity::Away };
        self.publish(local, activity);
        self.shown.metrics()
    }

    /// The loop does something else from the time on that is accounted for.
    fn becomes(&self, activity: Activity) {
        let figures = &mut *self.figures.borrow_mut();
        Edition::publish_change(&self.shown.published, figures, activity);
        self.shown.set_activity(activity);
    }

    /// Takes in what is counted elsewhere.
    fn gather(&self, local: &Local) -> RefMut<'_, Figures> {
        let mut figures = self.figures.borrow_mut();
        figures.gather(local);
        let mut callbacks = self.ran.each_ref().map(Cell::get);
        callbacks[self.phase.get() as usize] += self.ran_in_phase(local);
        callbacks[Phase::NextTicks as usize] = self.samplers[Phase::NextTicks as usize].events();
        // Those of checkpoints are not told exactly.
        callbacks[Phase::Microtasks as usize] = 0;
        let others: u64 = callbacks.iter().sum();
        callbacks[Phase::Microtasks as usize] = local.ran.get().saturating_sub(others);
        figures.counts.phase_callbacks = callbacks;
        figures
    }

    /// Lets others see what is known now, and what the loop does next.
    fn publish(&self, local: &Local, activity: Activity) {
        let mut figures = self.gather(local);
        self.published.set(figures.last);
        self.edition.borrow_mut().publish(&self.shown.published, &mut figures, activity);
        self.shown.set_activity(activity);
    }

    /// Lets the watchdog see which callback begins.
    fn begins(&self, phase: Phase, place: Option<&'static Location<'static>>) {
        let beat = (self.beat.get() + 1) | 1;
        self.beat.set(beat);
        self.shown.callback_begins(phase, place, beat);
    }

    /// Lets the watchdog see that what it has seen is over. What runs until the next callback is none: the destructor of
    /// one that was cleared, for example.
    #[inline]
    fn end_callback(&self) {
        let beat = (self.beat.get() | 1) + 1;
        self.beat.set(beat);
        self.shown.end_callback(beat);
    }

    /// Looks at the clock, when so many callbacks have come to their ends, and perhaps another one begins.
    fn look(&self, ended: u64, begins: bool) -> i64 {
        let now = sys::now();
        let (since, before) = self.mark.replace((now, ended));
        if ended > before {
            self.figures.borrow_mut().record_stretch(ended - before, now - since);
        }
        if begins {
            self.trace.begins(now);
        }
        now
    }

    /// Accounts for the time since the time that is accounted for. Returns the time before and now.
    fn advance(&self, local: &Local, is_idle: bool) -> (i64, i64) {
        let now = self.look(local.ran.get(), false);
        self.hooks.set(0);
        let passed = self.figures.borrow_mut().advance(now, is_idle);
        (now - passed, now)
    }
}

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
    fn ran_in_phase(&self, local: &Local) -> u64 {
        let (ran, checkpointed) = self.started.get();
        let present = self.checkpoint.get().map_or(0, |before| local.ran.get() - before);
        (local.ran.get() - ran).saturating_sub(self.checkpointed.get() + present - checkpointed)
    }

    /// Counts the callbacks of the present phase.
    fn settle(&self, local: &Local) {
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

    /// Lets others see what is known, if it is a while since they could. A tick may take long.
    fn publish_now_and_then(&self, local: &Local, now: i64) {
        if now - self.arrivals.get().0 >= PERIOD {
            let others = [&self.ticks, &self.checkpoints, &self.queued];
            for sampler in self.samplers.iter().chain(others) {
                sampler.adapt(now);
            }
            self.adapt_to_arrivals(local, now);
        }
        if now - self.published.get() >= STALE {
            self.publish(local, Activity::Busy);
            self.published.set(now);
        }
    }

    /// Bounds the number of times that other threads note.
    fn adapt_to_arrivals(&self, local: &Local, now: i64) {
        let handed_over = local.shared.handed_over();
        let (since, before) = self.arrivals.replace((now, handed_over));
        self.stamps.set(0);
        let arrived = handed_over.saturating_sub(before);
        let stride = stride(self.arrival_stride.get(), arrived, now - since).next_power_of_two();
        self.note_one_of(local, stride);
    }

    /// Has other threads note the time of one in so many.
    fn note_one_of(&self, local: &Local, stride: u32) {
        self.arrival_stride.set(stride);
        if !self.is_followed {
            local.shared.note_one_of(stride);
        } else if !self.trace.is_on() {
            self.shown.mask.store(stride - 1, Ordering::Relaxed);
        }
    }
}

//! Who is told of what a loop does, and makes figures of it.

use std::cell::{Cell, RefCell, RefMut};
use std::panic::Location;
use std::sync::Arc;
#[cfg(not(loom))]
use std::time::Instant;

use super::figures::{EACH_CHECKPOINT, EACH_TICK, Figures, LATENESS, RUN, TICK, WAIT};
use super::report::{Edition, Report};
use super::sampler::{PERIOD, Sampler, stride};
use super::shown::{Activity, Shown};
use super::snapshot::Metrics;
#[cfg(feature = "spans")]
use super::spans::Spans;
use super::trace::Trace;
use crate::builder::Config;
use crate::local::Local;
use crate::observe::{Observe, Stamp};
use crate::place::Place;
use crate::shared::Shared;
use crate::sync::Ordering;
use crate::task::{Run, Task};
use crate::timer::TimerTask;
use crate::{Cx, Phase, Queue, sys};

/// How long the figures that others see are behind at the most, while the loop is busy, in nanoseconds.
const STALE: i64 = 1_000_000;

/// Belongs to the loop's thread. No borrow is held while code of the user runs.
pub(crate) struct Observer {
    shown: Arc<Shown>,
    figures: RefCell<Figures>,
    edition: RefCell<Edition>,
    /// Callbacks that have begun, microtasks among them.
    beat: Cell<u64>,
    /// Of the callbacks of each phase.
    samplers: [Sampler; Phase::ALL.len()],
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
    /// How many callbacks had been run when the present phase began.
    started: Cell<u64>,
    /// Up to how many events before one is measured it is told of: none, or all of them if somebody follows the callbacks.
    gate: u32,
    published: Cell<i64>,
    /// When, and after how many entries, the rate of what other threads hand over was looked at.
    arrivals: Cell<(i64, u64)>,
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
            checkpoints: sampler(11),
            queued: sampler(12),
            due: Cell::new(0),
            timer_place: Cell::new(None),
            tick: Cell::new(now),
            waited: Cell::new(0),
            drained: [Cell::new(0), Cell::new(0)],
            draining: Cell::new(Phase::Microtasks),
            hooks: Cell::new(0),
            started: Cell::new(0),
            gate: if shown.is_followed() { u32::MAX } else { 0 },
            published: Cell::new(now),
            arrivals: Cell::new((now, 0)),
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
        let is_stamped = self.queued.begins(0);
        if is_stamped {
            self.queued.measured();
        }
        let stamp = if is_stamped { self.shown.stamp() } else { Stamp::default() };
        if self.shown.is_noted(stamp) {
            Task::noted(callback, place, stamp)
        } else {
            Task::new(callback)
        }
    }

    /// The callback that has begun was queued there and then.
    #[inline]
    pub(crate) fn callback_is(&self, local: &Local, place: Place, stamp: Stamp) {
        self.shown.set_place(place.get());
        self.stamp.set(stamp);
        if stamp.is_set() {
            self.waited_since(local.phase.get(), stamp);
        }
    }

    #[cold]
    fn waited_since(&self, phase: Phase, stamp: Stamp) {
        let queue = match phase {
            Phase::External => Queue::External,
            Phase::Internal => Queue::Internal,
            Phase::Microtasks => Queue::Microtasks,
            Phase::NextTicks => Queue::NextTicks,
            Phase::Check => Queue::Immediates,
            Phase::Close => Queue::Closes,
            Phase::Timers | Phase::Futures | Phase::Io | Phase::Hook => return,
        };
        let sampler = &self.samplers[phase as usize];
        let now = if sampler.is_measuring() { sampler.from.get() } else { sys::now() };
        self.figures.borrow_mut().record(WAIT + queue as usize, stamp.before(now).cast_signed());
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

    /// What is known at this moment.
    pub(crate) fn metrics(&self, local: &Local) -> Metrics {
        let activity = if local.driven.get() { Activity::Busy } else { Activity::Away };
        self.shown.complete(&Report::of(&self.gather(local), activity), sys::now())
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
        let mut callbacks = self.samplers.each_ref().map(|sampler| sampler.events());
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
        let beat = self.beat.get() + 1;
        self.beat.set(beat);
        self.shown.callback_begins(phase, place, beat);
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
    fn enters(self) {
        let now = sys::now();
        let (_, ended) = self.mark.get();
        self.mark.set((now, ended));
        // What was before was not the loop's time.
        self.figures.borrow_mut().last = now;
        self.becomes(Activity::Busy);
    }

    fn tick_begins(self, local: &Local) {
        // What has run is over, if the watchdog asks.
        self.shown.no_callback();
        let mut figures = self.figures.borrow_mut();
        self.tick.set(figures.last);
        self.waited.set(0);
        figures.look(local, &EACH_TICK);
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
            let took = now - self.tick.get() - self.waited.get();
            figures.record(TICK, took);
            figures.count(now, local.ran.get());
        }
        self.publish_now_and_then(local, now);
    }

    #[inline]
    fn phase_begins(self, local: &Local) {
        self.started.set(local.ran.get());
    }

    #[inline]
    fn phase_ends(self, local: &Local, phase: Phase) {
        if self.started.get() != local.ran.get() {
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
    fn timer_is(self, task: &mut TimerTask) {
        if self.shown.is_followed() {
            self.timer_place.set(task.origin().place);
        }
    }

    #[inline]
    fn callback_begins(self, local: &Local, phase: Phase, callback: &impl Run) {
        #[cfg(feature = "spans")]
        if !self.spans.is_in_phase() {
            self.spans.phase_begins(phase);
        }
        if self.samplers[phase as usize].begins(self.gate) {
            self.follow(local, phase, callback);
        }
    }

    #[inline]
    fn callback_ends(self, local: &Local, phase: Phase) {
        if self.samplers[phase as usize].is_measuring() {
            self.measured(local, phase);
        }
    }

    #[inline]
    fn checkpoint_begins(self, local: &Local) {
        if self.checkpoints.begins(0) {
            self.checkpoints.from.set(self.look(local.ran.get(), false));
            self.draining.set(Phase::Microtasks);
            self.figures.borrow_mut().look(local, &EACH_CHECKPOINT);
        }
    }

    #[inline]
    fn checkpoint_ends(self, local: &Local) {
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
        if sampler.begins(self.gate) {
            self.begins(phase, None);
            if sampler.is_measuring() {
                // It is not counted yet.
                sampler.from.set(self.look(local.ran.get(), true));
            }
        }
    }

    #[inline]
    fn microtask_ends(self, local: &Local, phase: Phase) {
        self.callback_ends(local, phase);
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

    /// A callback begins that is measured, or that somebody follows.
    #[cold]
    fn follow(&self, local: &Local, phase: Phase, callback: &impl Run) {
        let place = match phase {
            Phase::Timers => self.timer_place.take(),
            _ => callback.place(),
        };
        self.begins(phase, place);
        let sampler = &self.samplers[phase as usize];
        if !sampler.is_measuring() {
            return;
        }
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
        self.figures.borrow_mut().record(RUN, to - from);
        self.publish_now_and_then(local, to);
    }

    /// Lets others see what is known, if it is a while since they could. A tick may take long.
    fn publish_now_and_then(&self, local: &Local, now: i64) {
        if now - self.arrivals.get().0 >= PERIOD {
            for sampler in self.samplers.iter().chain([&self.checkpoints, &self.queued]) {
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
        let stride = stride(handed_over.saturating_sub(before), now - since);
        if !self.trace.is_on() {
            self.shown.mask.store(stride.next_power_of_two() - 1, Ordering::Relaxed);
        }
    }
}

//! Who is told of what a loop does, and makes figures of it.

mod tick;

use std::cell::{Cell, RefCell, RefMut};
use std::panic::Location;
use std::sync::Arc;
#[cfg(not(loom))]
use std::time::Instant;

use super::arrivals::Arrivals;
use super::figures::{Figures, WAIT};
use super::report::Edition;
use super::sampler::{BURST, Sampler};
use super::shown::{Activity, Shown};
use super::snapshot::Metrics;
#[cfg(feature = "spans")]
use super::spans::Spans;
use super::trace::Trace;
use crate::builder::Config;
use crate::local::Local;
use crate::place::Place;
use crate::shared::Shared;
use crate::stamp::Stamp;
use crate::sync::Ordering;
use crate::task::Task;
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
    arrivals: Arrivals,
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
            arrivals: Arrivals::new(now),
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

    /// Whether a time that was noted is taken in.
    fn takes_in(&self, local: &Local, latency: usize) -> bool {
        self.trace.is_on()
            || self.figures.borrow().latencies[latency].count() < BURST
            || self.arrivals.takes_in(|stride| self.note_one_of(local, stride))
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

    /// Lets others see what is known, if it is a while since they could. A tick may take long.
    fn publish_now_and_then(&self, local: &Local, now: i64) {
        if self.arrivals.is_due(now) {
            let others = [&self.ticks, &self.checkpoints, &self.queued];
            for sampler in self.samplers.iter().chain(others) {
                sampler.adapt(now);
            }
            let handed_over = local.shared.handed_over();
            self.arrivals.adapt(now, handed_over, |stride| self.note_one_of(local, stride));
        }
        if now - self.published.get() >= STALE {
            self.publish(local, Activity::Busy);
            self.published.set(now);
        }
    }

    /// Has other threads note the time of one in so many.
    fn note_one_of(&self, local: &Local, stride: u32) {
        if !self.is_followed {
            local.shared.note_one_of(stride);
        } else if !self.trace.is_on() {
            self.shown.mask.store(stride - 1, Ordering::Relaxed);
        }
    }
}

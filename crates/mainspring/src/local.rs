//! What only the loop's own thread can reach.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::Queue;
use crate::abort::AbortListeners;
use crate::builder::Config;
use crate::chunk::ChunkQueue;
use crate::error::{Refusal, SubmitError};
use crate::fault::drop_isolated;
use crate::future::{Coop, Futures};
use crate::handover::Handover;
use crate::hooks::Hooks;
use crate::immediate::{ImmediateId, Immediates};
use crate::inbox::Inbox;
use crate::io::Watchers;
use crate::jobs::Jobs;
use crate::lane::Lane;
#[cfg(feature = "metrics")]
use crate::metrics::Observer;
use crate::performance::Timeline;
use crate::phase::Phase;
use crate::place::Place;
use crate::promise::{Bridges, Registry, Rejections};
use crate::safety::{self, Notes};
use crate::shared::Shared;
use crate::spin::Spin;
#[cfg(feature = "metrics")]
use crate::stamp::Stamp;
use crate::state::LoopState;
use crate::sync::Ordering;
use crate::task::{SendTask, Task, TimerTask};
use crate::timer::Timers;

/// What a loop that has nothing to do knows.
pub(crate) struct Idle {
    /// When the next timer is due.
    pub(crate) next: Option<i64>,
    /// When that was asked, if there is one.
    pub(crate) now: i64,
    /// Whether a guard keeps the loop alive.
    pub(crate) is_held: bool,
}

/// The loop's own side. Everything is behind a `Cell` or a queue that hands out values, so that no
/// borrow is held while a callback runs.
pub(crate) struct Local {
    pub(crate) shared: Arc<Shared>,
    pub(crate) config: Config,
    pub(crate) hooks: Hooks,
    pub(crate) spin: Spin,
    pub(crate) external: Lane,
    pub(crate) internal: Lane,
    pub(crate) microtasks: Lane,
    pub(crate) next_ticks: ChunkQueue<Task>,
    pub(crate) immediates: Immediates,
    pub(crate) closes: ChunkQueue<Task>,
    pub(crate) timers: Timers,
    pub(crate) watchers: Watchers,
    pub(crate) futures: Futures,
    /// What the present poll of a future may still do.
    pub(crate) coop: Coop,
    pub(crate) jobs: Jobs,
    pub(crate) registry: Registry,
    pub(crate) rejections: Rejections,
    pub(crate) bridges: Bridges,
    pub(crate) performance: Timeline,
    pub(crate) abort_listeners: AbortListeners,
    /// For immediates and close callbacks.
    pub(crate) handover: Handover<Task>,
    /// For timers.
    pub(crate) timer_handover: Handover<TimerTask>,
    /// What the loop is running now.
    pub(crate) phase: Cell<Phase>,
    /// Whether a call that drives the loop is on the stack, and something that is queued will be run.
    pub(crate) driven: Cell<bool>,
    /// Whether it is driven, and nothing has to be noted about what is queued.
    pub(crate) is_plain: Cell<bool>,
    /// Whether the loop was ever driven.
    pub(crate) started: Cell<bool>,
    /// Whether a host waits for the loop, by the descriptor of the poller.
    pub(crate) hosted: Cell<bool>,
    /// Whether the loop is asleep while its host waits: between two turns.
    pub(crate) dozing: Cell<bool>,
    /// Callbacks run so far.
    pub(crate) ran: Cell<u64>,
    /// Whether the loop drains its queues in order to terminate.
    pub(crate) draining: Cell<bool>,
    /// The immediates that a shutdown runs: those before this one.
    pub(crate) last_immediate: Cell<Option<ImmediateId>>,
    /// Whether the loop is at its end, so that nothing that is queued would run.
    pub(crate) finished: Cell<bool>,
    /// What `ran` was when the present checkpoint began.
    pub(crate) checkpoint: Cell<u64>,
    /// Whether timers were run in this tick.
    pub(crate) ran_timers: Cell<bool>,
    /// Whether a checkpoint of this tick spent its budget.
    pub(crate) breached: Cell<bool>,
    /// Whether the next checkpoint is left out.
    pub(crate) is_put_off: Cell<bool>,
    #[cfg(feature = "metrics")]
    observer: Option<Box<Observer>>,
    /// The condition under which `run_until_aborted` ends.
    pub(crate) stop: RefCell<Option<Box<dyn FnMut() -> bool>>>,
}

impl Local {
    pub(crate) fn new(shared: Arc<Shared>, config: Config, hooks: Hooks) -> Self {
        Self {
            hooks,
            spin: Spin::new(config.max_spin),
            external: Lane::new(),
            internal: Lane::new(),
            microtasks: Lane::new(),
            next_ticks: ChunkQueue::new(),
            immediates: Immediates::new(),
            closes: ChunkQueue::new(),
            timers: Timers::new(shared.clock.cached()),
            watchers: Watchers::new(),
            futures: Futures::new(),
            coop: Coop::new(),
            jobs: Jobs::new(shared.safety.is_some()),
            registry: Registry::new(shared.safety.clone()),
            rejections: Rejections::new(),
            bridges: Bridges::default(),
            performance: Timeline::new(&shared.clock),
            abort_listeners: AbortListeners::default(),
            handover: Handover::new(),
            timer_handover: Handover::new(),
            phase: Cell::new(Phase::External),
            driven: Cell::new(false),
            is_plain: Cell::new(false),
            started: Cell::new(false),
            hosted: Cell::new(false),
            dozing: Cell::new(false),
            ran: Cell::new(0),
            draining: Cell::new(false),
            last_immediate: Cell::new(None),
            finished: Cell::new(false),
            checkpoint: Cell::new(0),
            ran_timers: Cell::new(false),
            breached: Cell::new(false),
            is_put_off: Cell::new(false),
            stop: RefCell::new(None),
            #[cfg(feature = "metrics")]
            observer: shared
                .shown
                .as_ref()
                .map(|shown| Box::new(Observer::new(shown, &shared, &config))),
            shared,
            config,
        }
    }

    /// Who is told of what the loop does, if anybody is.
    #[cfg(feature = "metrics")]
    #[inline]
    pub(crate) fn observer(&self) -> Option<&Observer> {
        self.observer.as_deref()
    }

    /// How much is in a queue.
    pub(crate) fn depth(&self, queue: Queue) -> usize {
        let shared = &*self.shared;
        match queue {
            Queue::External => shared.external.depth(),
            Queue::Internal => shared.internal.depth(),
            Queue::Microtasks => shared.microtasks.depth(),
            Queue::NextTicks => self.next_ticks.len(),
            Queue::Immediates => self.immediates.len(),
            Queue::Closes => self.closes.len(),
            Queue::Futures => {
                let others =
                    self.next_ticks.len() + self.immediates.referenced() + self.closes.len();
                shared.own_queued.load(Ordering::Relaxed).saturating_sub(others)
            }
        }
    }

    /// Notes whether a call that drives the loop is on the stack.
    pub(crate) fn set_driven(&self, is_driven: bool) {
        self.driven.set(is_driven);
        let is_noted = self.observer().is_some() || self.shared.safety.is_some();
        self.is_plain.set(is_driven && !is_noted);
        if self.shared.safety.is_some() {
            safety::watch(is_driven);
        }
    }

    /// Whether something that is queued now would still be run.
    #[inline]
    pub(crate) fn accepts(&self) -> bool {
        self.driven.get() || self.accepts_undriven()
    }

    #[cold]
    fn accepts_undriven(&self) -> bool {
        self.tell_host();
        !self.finished.get() && self.shared.state() != LoopState::Terminated
    }

    /// Has the host of a loop come back, because something is queued between two turns.
    pub(crate) fn tell_host(&self) {
        if self.dozing.get() {
            self.shared.sleep.notify_host();
        }
    }

    #[inline]
    pub(crate) fn submit<F>(&self, f: F, place: Place) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if self.shared.sleep.state.is_ending() {
            return Err(SubmitError::new(Refusal::Terminated, f));
        }
        if self.shared.external.is_at_limit() {
            self.shared.count_refusal();
            return Err(SubmitError::new(Refusal::Overloaded, f));
        }
        if self.is_plain.get() {
            self.external.push(&self.shared.external, f);
        } else {
            self.tell_host();
            self.push_noted(Queue::External, &self.external, &self.shared.external, f, place);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn submit_internal<F>(&self, f: F, place: Place) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if self.is_plain.get() {
            self.internal.push(&self.shared.internal, f);
        } else if self.accepts() {
            self.push_noted(Queue::Internal, &self.internal, &self.shared.internal, f, place);
        } else {
            return Err(SubmitError::new(Refusal::Terminated, f));
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn queue_microtask<F>(&self, f: F, place: Place) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if self.is_plain.get() {
            self.push_microtask(f);
        } else if self.accepts() {
            self.jobs.before_push();
            self.push_noted_microtask(f, place);
        } else {
            return Err(SubmitError::new(Refusal::Terminated, f));
        }
        Ok(())
    }

    /// Queues what is run, with what is to be noted about it.
    #[cold]
    fn push_noted<F>(&self, queue: Queue, lane: &Lane, inbox: &Inbox<SendTask>, f: F, place: Place)
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        self.push_noted_task(queue, f, place, |task| lane.push_task(inbox, task));
    }

    #[cold]
    fn push_noted_microtask<F>(&self, f: F, place: Place)
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        self.push_noted(Queue::Microtasks, &self.microtasks, &self.shared.microtasks, f, place);
    }

    /// Queues a microtask. That it will be run was found out before.
    #[inline]
    pub(crate) fn push_microtask<F>(&self, f: F)
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if self.jobs.is_unusual() {
            self.jobs.before_push();
            if self.shared.safety.is_some() {
                return self.push_noted_microtask(f, Place::UNKNOWN);
            }
        }
        self.microtasks.push(&self.shared.microtasks, f);
    }

    /// What is noted about what the loop's own thread queues, in the maximum-safety profile.
    fn notes(&self, place: Place) -> Notes {
        #[cfg(feature = "metrics")]
        if let Some(observer) = self.observer() {
            return Notes { place, stamp: observer.stamp_next() };
        }
        Notes::at(place)
    }

    #[inline(always)]
    pub(crate) fn next_tick<F>(&self, f: F, place: Place)
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if self.is_plain.get() {
            self.push_next_tick(Task::new(f));
        } else if self.accepts() {
            self.push_noted_task(Queue::NextTicks, f, place, |task| self.push_next_tick(task));
        }
    }

    #[inline]
    fn push_next_tick(&self, task: Task) {
        self.next_ticks.push(task);
        self.add_own_queued(1);
    }

    /// Queues what is run, by `push`, with what is to be noted about it.
    #[cold]
    fn push_noted_task<F, R>(
        &self,
        queue: Queue,
        f: F,
        place: Place,
        push: impl FnOnce(Task) -> R,
    ) -> R
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if let Some(safety) = &self.shared.safety {
            return safety.put(self, queue, f, self.notes(place), push);
        }
        #[cfg(feature = "metrics")]
        if let Some(observer) = self.observer() {
            return push(observer.task(f, place));
        }
        let _ = place;
        push(Task::new(f))
    }

    /// Likewise for a timer. When it was set does not matter.
    #[inline]
    pub(crate) fn timer_task<F>(&self, callback: F, place: Place) -> TimerTask
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if self.is_plain.get() {
            Task::new(callback)
        } else {
            self.noted_timer_task(callback, place)
        }
    }

    #[cold]
    fn noted_timer_task<F>(&self, callback: F, place: Place) -> TimerTask
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if let Some(safety) = &self.shared.safety {
            return safety.timer_task(callback, place);
        }
        #[cfg(feature = "metrics")]
        if self.observer().is_some() {
            return Task::noted(callback, place, Stamp::default());
        }
        let _ = place;
        Task::new(callback)
    }

    #[inline(always)]
    pub(crate) fn set_immediate<F>(&self, f: F, place: Place) -> ImmediateId
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if self.is_plain.get() {
            self.push_immediate(Task::new(f))
        } else if self.accepts() {
            self.push_noted_task(Queue::Immediates, f, place, |task| self.push_immediate(task))
        } else {
            self.immediates.skip()
        }
    }

    fn push_immediate(&self, task: Task) -> ImmediateId {
        self.add_own_queued(1);
        self.immediates.push(task)
    }

    pub(crate) fn clear_immediate(&self, id: ImmediateId) -> bool {
        let Some((_task, is_referenced)) = self.immediates.clear(id) else { return false };
        if is_referenced {
            self.sub_own_queued();
        }
        true
    }

    pub(crate) fn reference_immediate(&self, id: ImmediateId, referenced: bool) -> Option<()> {
        match (self.immediates.refer(id, referenced)?, referenced) {
            (false, true) => {
                self.tell_host();
                self.add_own_queued(1);
            }
            (true, false) => self.sub_own_queued(),
            _ => {}
        }
        Some(())
    }

    #[inline(always)]
    pub(crate) fn queue_close<F>(&self, f: F, place: Place)
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if self.is_plain.get() {
            self.push_close(Task::new(f));
        } else if self.accepts() {
            self.push_noted_task(Queue::Closes, f, place, |task| self.push_close(task));
        }
    }

    fn push_close(&self, task: Task) {
        self.closes.push(task);
        self.add_own_queued(1);
    }

    pub(crate) fn add_own_queued(&self, n: usize) {
        let own_queued = &self.shared.own_queued;
        own_queued.store(own_queued.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }

    pub(crate) fn sub_own_queued(&self) {
        let own_queued = &self.shared.own_queued;
        own_queued.store(own_queued.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }

    /// Whether termination has begun.
    #[inline]
    pub(crate) fn is_ending(&self) -> bool {
        self.shared.sleep.state.is_ending()
    }

    /// Whether to run the next callback, rather than to turn to the end of the loop.
    #[inline]
    pub(crate) fn may_go_on(&self) -> bool {
        self.shared.sleep.state.is_running() || self.may_drain_on()
    }

    #[cold]
    fn may_drain_on(&self) -> bool {
        self.draining.get() && !self.shared.sleep.state.is_forced() && !self.shared.end.is_late()
    }

    /// Whether a checkpoint would find something to run.
    #[inline]
    pub(crate) fn has_microtasks(&self) -> bool {
        self.microtasks.is_ready(&self.shared.microtasks)
            || !self.next_ticks.is_empty()
            || self.jobs.has_jobs()
    }

    /// Whether a checkpoint would have something to do.
    #[inline]
    pub(crate) fn needs_checkpoint(&self) -> bool {
        self.has_microtasks() || !self.rejections.is_empty() || self.jobs.is_pending()
    }

    /// Whether a tick would find something to run that the loop's own thread has queued.
    #[inline]
    pub(crate) fn has_own_work(&self) -> bool {
        let shared = &*self.shared;
        let held = shared.external.held() | shared.internal.held() | shared.microtasks.held();
        held | shared.own_queued.load(Ordering::Relaxed) != 0
            || !self.rejections.is_empty()
            || self.jobs.is_pending()
            || self.registry.has_arrivals()
    }

    /// Whether a tick would find something to run.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        let shared = &*self.shared;
        self.external.is_ready(&shared.external)
            || self.internal.is_ready(&shared.internal)
            || self.microtasks.is_ready(&shared.microtasks)
            || shared.own_queued.load(Ordering::Relaxed) != 0
            || !self.rejections.is_empty()
            || self.jobs.is_pending()
            || shared.timers.has_commands()
            || shared.io.has_left()
            || self.watchers.has_events()
            || shared.is_woken()
    }

    /// Whether something is queued, or something that is referenced may still cause a callback.
    pub(crate) fn is_alive(&self) -> bool {
        // In this order: what was queued before the last guard was dropped, the last timer was cleared, or
        // the last descriptor was removed, is found.
        self.shared.holds.load(Ordering::Acquire) != 0
            || self.timers.is_referenced(&self.shared.timers)
            || self.shared.io.referenced() != 0
            || self.futures.is_referenced()
            || self.has_work()
    }

    /// What a loop that has nothing to do waits for. None if there is something to do.
    pub(crate) fn look_idle(&self) -> Option<Idle> {
        // In this order: what was queued or set under a guard is found when the guard is gone.
        let is_held = self.shared.holds.load(Ordering::Acquire) != 0;
        let next = self.timers.next(&self.shared.timers);
        let now = next.map_or(i64::MIN, |_| self.shared.clock.read());
        let is_due = next.is_some_and(|next| next <= now);
        (!is_due && !self.has_work()).then_some(Idle { next, now, is_held })
    }

    /// Drops every callback that is still queued, and accepts no more. Returns how many there were.
    pub(crate) fn drop_queued(&self) -> usize {
        self.finished.set(true);
        self.set_driven(false);
        let shared = &*self.shared;
        if let Some(safety) = &shared.safety {
            safety.release();
        }
        let mut dropped = self.end_futures();
        let mut discard = |task: Task| {
            dropped += 1;
            drop_isolated(task);
        };
        for (lane, inbox) in [
            (&self.external, &shared.external),
            (&self.internal, &shared.internal),
            (&self.microtasks, &shared.microtasks),
        ] {
            lane.drain(inbox, &mut discard);
        }
        while let Some(task) = self.next_ticks.pop() {
            discard(task);
        }
        while let Some((task, _)) = self.immediates.pop_before(self.immediates.end()) {
            discard(task);
        }
        while let Some(task) = self.closes.pop() {
            discard(task);
        }
        shared.workers.end(self.started.get());
        self.rejections.end();
        shared.own_queued.store(0, Ordering::Relaxed);
        self.registry.end(&shared.newcomers);
        self.bridges.end();
        shared.timers.inbox.close();
        self.timers.end(&shared.timers);
        self.watchers.end(shared);
        self.performance.end();
        self.abort_listeners.end();
        self.jobs.clear();
        self.hooks.clear();
        dropped
    }
}

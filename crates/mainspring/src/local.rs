//! What only the loop's own thread can reach.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::abort::AbortListeners;
use crate::builder::Config;
use crate::chunk::ChunkQueue;
use crate::error::{Refusal, SubmitError};
use crate::fault::{Phase, drop_isolated};
use crate::future::{Coop, Futures};
use crate::hooks::Hooks;
use crate::immediate::{ImmediateId, Immediates};
use crate::io::Watchers;
use crate::jobs::Jobs;
use crate::landing::Landing;
use crate::lane::Lane;
use crate::performance::Timeline;
use crate::promise::{Bridges, Registry, Rejections};
use crate::shared::Shared;
use crate::spin::Spin;
use crate::state::LoopState;
use crate::sync::Ordering;
use crate::task::Task;
use crate::timer::{TimerTask, Timers};

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
    pub(crate) landing: Landing<Task>,
    /// For timers.
    pub(crate) timer_landing: Landing<TimerTask>,
    /// What the loop is running now.
    pub(crate) phase: Cell<Phase>,
    /// Whether a call that drives the loop is on the stack, and something that is queued will be run.
    pub(crate) driven: Cell<bool>,
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
            jobs: Jobs::default(),
            registry: Registry::new(),
            rejections: Rejections::new(),
            bridges: Bridges::default(),
            performance: Timeline::new(&shared.clock),
            abort_listeners: AbortListeners::default(),
            landing: Landing::new(),
            timer_landing: Landing::new(),
            phase: Cell::new(Phase::External),
            driven: Cell::new(false),
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
            shared,
            config,
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
    pub(crate) fn submit<F>(&self, f: F) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if self.shared.sleep.state.is_ending() {
            return Err(SubmitError::new(Refusal::Terminated, f));
        }
        if self.shared.external.is_at_limit() {
            return Err(SubmitError::new(Refusal::Overloaded, f));
        }
        if !self.driven.get() {
            self.tell_host();
        }
        self.external.push(&self.shared.external, f);
        Ok(())
    }

    #[inline]
    pub(crate) fn submit_internal<F>(&self, f: F) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if !self.accepts() {
            return Err(SubmitError::new(Refusal::Terminated, f));
        }
        self.internal.push(&self.shared.internal, f);
        Ok(())
    }

    #[inline]
    pub(crate) fn queue_microtask<F>(&self, f: F) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if !self.accepts() {
            return Err(SubmitError::new(Refusal::Terminated, f));
        }
        self.jobs.before_push();
        self.microtasks.push(&self.shared.microtasks, f);
        Ok(())
    }

    /// Queues a microtask. That it will be run was found out before.
    #[inline]
    pub(crate) fn push_microtask<F>(&self, f: F)
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        self.jobs.before_push();
        self.microtasks.push(&self.shared.microtasks, f);
    }

    #[inline]
    pub(crate) fn next_tick<F>(&self, f: F)
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if self.accepts() {
            self.next_ticks.push(Task::new(f));
            self.add_aside(1);
        }
    }

    pub(crate) fn set_immediate<F>(&self, f: F) -> ImmediateId
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if !self.accepts() {
            return self.immediates.skip();
        }
        self.add_aside(1);
        self.immediates.push(Task::new(f))
    }

    pub(crate) fn clear_immediate(&self, id: ImmediateId) -> bool {
        let Some((_task, is_referenced)) = self.immediates.clear(id) else { return false };
        if is_referenced {
            self.sub_aside();
        }
        true
    }

    pub(crate) fn reference_immediate(&self, id: ImmediateId, referenced: bool) -> Option<()> {
        match (self.immediates.refer(id, referenced)?, referenced) {
            (false, true) => {
                self.tell_host();
                self.add_aside(1);
            }
            (true, false) => self.sub_aside(),
            _ => {}
        }
        Some(())
    }

    pub(crate) fn queue_close<F>(&self, f: F)
    where
        F: FnOnce(&crate::Cx) + 'static,
    {
        if self.accepts() {
            self.closes.push(Task::new(f));
            self.add_aside(1);
        }
    }

    pub(crate) fn add_aside(&self, n: usize) {
        let aside = &self.shared.aside;
        aside.store(aside.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }

    pub(crate) fn sub_aside(&self) {
        let aside = &self.shared.aside;
        aside.store(aside.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }

    /// Whether to run the next callback, rather than to turn to the end of the loop.
    #[inline]
    pub(crate) fn may_go_on(&self) -> bool {
        self.shared.sleep.state.is_running() || self.may_drain_on()
    }

    #[cold]
    fn may_drain_on(&self) -> bool {
        self.draining.get() && !self.shared.sleep.state.is_forced() && !self.shared.is_late()
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
        let beside =
            shared.external.beside() | shared.internal.beside() | shared.microtasks.beside();
        beside | shared.aside.load(Ordering::Relaxed) != 0
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
            || shared.aside.load(Ordering::Relaxed) != 0
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
        self.driven.set(false);
        let shared = &*self.shared;
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
        shared.aside.store(0, Ordering::Relaxed);
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

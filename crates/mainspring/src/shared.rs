//! What a loop shares with its handles.

use std::sync::Arc;
use std::time::Duration;

use crate::alive_list::AliveList;
use crate::builder::Config;
use crate::clock::{self, Clock};
use crate::end::End;
use crate::error::{Refusal, SubmitError};
use crate::inbox::{Inbox, Refused};
use crate::io::Io;
#[cfg(feature = "metrics")]
use crate::metrics::Shown;
use crate::owner::Owner;
use crate::place::Place;
use crate::promise::{Newcomers, Readers};
use crate::safety::{Notes, Safety};
use crate::sleep::Sleep;
use crate::state::{LoopState, Via};
use crate::sync::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use crate::sys;
use crate::task::{SendTask, SendTimerTask};
use crate::timer::Remote;
use crate::workers::Workers;
use crate::{Cx, FastPathMode, Phase, Profile, Queue, ShutdownStage};

/// Slots in the rings, as powers of two. Slots that are never used cost address space only. That of the
/// external lane takes what two producers push while the loop is off its processor for a moment.
const EXTERNAL_SHIFT: u32 = if cfg!(loom) { 1 } else { 11 };
const INTERNAL_SHIFT: u32 = if cfg!(loom) { 1 } else { 10 };
const MICROTASK_SHIFT: u32 = if cfg!(loom) { 1 } else { 12 };

/// When an entry was queued, if that was noted.
#[cfg(feature = "metrics")]
type Noted = crate::stamp::Stamp;
#[cfg(not(feature = "metrics"))]
type Noted = std::convert::Infallible;

/// A task with what is to be noted about it.
fn noted<F>(task: F, place: Place, noted: Noted) -> SendTask
where
    F: FnOnce(&Cx) + Send + 'static,
{
    #[cfg(feature = "metrics")]
    return SendTask::noted(task, place, noted);
    #[cfg(not(feature = "metrics"))]
    {
        let _ = (task, place);
        match noted {}
    }
}

/// How many loops were made, and one more.
static LOOPS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

/// Reachable from every thread.
pub(crate) struct Shared {
    /// Which loop of the process it is.
    pub(crate) id: u64,
    pub(crate) sleep: Sleep,
    pub(crate) clock: Clock,
    pub(crate) external: Inbox<SendTask>,
    pub(crate) internal: Inbox<SendTask>,
    pub(crate) microtasks: Inbox<SendTask>,
    pub(crate) timers: Remote,
    pub(crate) io: Io,
    pub(crate) owner: Owner,
    pub(crate) newcomers: Newcomers,
    pub(crate) workers: Workers,
    /// For those who read the values of promises after the end.
    pub(crate) readers: Readers,
    /// Callbacks in queues that other threads have no entrance to. Written by the loop only.
    pub(crate) own_queued: AtomicUsize,
    /// Guards and errands that keep `run_until_idle` from returning.
    pub(crate) holds: AtomicUsize,
    /// The guards and the errands, if the loop is observed.
    pub(crate) guards: AliveList,
    pub(crate) errands: AliveList,
    /// Somebody asked for a tick.
    woken: AtomicBool,
    fast_path: AtomicU8,
    pub(crate) end: End,
    /// Of the maximum-safety profile.
    pub(crate) safety: Option<Arc<Safety>>,
    /// What other threads see of a loop that is observed.
    #[cfg(feature = "metrics")]
    pub(crate) shown: Option<Arc<Shown>>,
}

impl Shared {
    pub(crate) fn new(config: &Config) -> Self {
        let id = LOOPS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let is_guarded = config.profile == Profile::MaximumSafety;
        let safety = is_guarded.then(|| Safety::new(id, config.safety_hooks.clone()));
        let inbox = |limit, shift| {
            let inbox = Inbox::new(limit, shift, config.is_observed());
            if is_guarded { inbox.guarded() } else { inbox }
        };
        Self {
            id,
            sleep: Sleep::new(safety.clone()),
            clock: Clock::new(config.clock.clone()),
            external: inbox(config.high_water_mark, EXTERNAL_SHIFT),
            internal: inbox(usize::MAX, INTERNAL_SHIFT),
            microtasks: inbox(usize::MAX, MICROTASK_SHIFT),
            timers: Remote::new(),
            io: Io::default(),
            owner: Owner::new(),
            newcomers: Newcomers::new(),
            workers: Workers::new(config),
            readers: Readers::new(),
            own_queued: AtomicUsize::new(0),
            holds: AtomicUsize::new(0),
            guards: AliveList::default(),
            errands: AliveList::default(),
            woken: AtomicBool::new(false),
            fast_path: AtomicU8::new(config.fast_path as u8),
            end: End::new(),
            safety,
            #[cfg(feature = "metrics")]
            shown: config.is_observed().then(|| Arc::new(Shown::new(config))),
        }
    }

    pub(crate) fn state(&self) -> LoopState {
        self.sleep.state.load()
    }

    /// Asks for a tick.
    pub(crate) fn wake(&self) {
        // Release: the partner is `take_wake`. What the caller did before is seen by that tick. A swap, so
        // that the same holds for whoever asked before and is answered by the same tick.
        self.woken.swap(true, Ordering::Release);
        self.sleep.notify();
    }

    #[inline]
    pub(crate) fn is_woken(&self) -> bool {
        self.woken.load(Ordering::Relaxed)
    }

    /// Notes that the tick that was asked for begins.
    #[inline]
    pub(crate) fn take_wake(&self) {
        if self.is_woken() {
            self.woken.swap(false, Ordering::Acquire);
        }
    }

    /// The entrance of a queue for other threads.
    ///
    /// Always inline, so that it is no choice where the queue is known.
    #[inline(always)]
    fn inbox(&self, queue: Queue) -> &Inbox<SendTask> {
        match queue {
            Queue::External => &self.external,
            Queue::Internal => &self.internal,
            Queue::Microtasks => &self.microtasks,
            _ => unreachable!("only the loop's own thread puts something there"),
        }
    }

    /// The entrances for other threads.
    pub(crate) fn inboxes(&self) -> [&Inbox<SendTask>; 3] {
        [&self.external, &self.internal, &self.microtasks]
    }

    /// Sends a task through the inbox of a queue, and wakes the loop. For other threads.
    #[inline]
    pub(crate) fn send<F>(&self, queue: Queue, task: F, place: Place) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        let inbox = self.inbox(queue);
        let note = |task, stamp| noted(task, place, stamp);
        match inbox.push(task, SendTask::new, || self.stamp_of_next(inbox), note) {
            Ok(()) => {
                self.wake_for_entry();
                Ok(())
            }
            Err((refused, task)) => self.send_otherwise(queue, refused, task, place),
        }
    }

    /// After something was put into an inbox.
    #[inline]
    fn wake_for_entry(&self) {
        self.sleep.notify_of_entry();
        if self.sleep.state.is_ending() {
            self.workers.wake_waiter();
        }
    }

    /// A task that the ring did not take is refused, or goes through the maximum-safety profile.
    #[cold]
    fn send_otherwise<F>(
        &self,
        queue: Queue,
        refused: Refused,
        task: F,
        place: Place,
    ) -> Result<(), SubmitError<F>>
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        let (refusal, task) = match (&self.safety, refused) {
            (Some(safety), Refused::Guarded) => {
                let inbox = self.inbox(queue);
                match safety.send(inbox, queue, task, self.notes_of_next(inbox, place)) {
                    Ok(()) => {
                        self.wake_for_entry();
                        return Ok(());
                    }
                    Err((refused, task)) => (refused, task),
                }
            }
            (_, refused) => (refused, task),
        };
        if refusal == Refused::Full {
            self.count_refusal();
            return Err(SubmitError::new(Refusal::Overloaded, task));
        }
        Err(SubmitError::new(Refusal::Terminated, task))
    }

    /// What is noted about the next entry of an inbox of the maximum-safety profile.
    fn notes_of_next(&self, inbox: &Inbox<SendTask>, place: Place) -> Notes {
        #[cfg(feature = "metrics")]
        if inbox.notes_next()
            && let Some(stamp) = self.stamp_of_next(inbox)
        {
            return Notes { place, stamp };
        }
        let _ = inbox;
        Notes::at(place)
    }

    /// Goes through a stage of the end of the loop.
    pub(crate) fn stage<R>(&self, stage: ShutdownStage, f: impl FnOnce() -> R) -> R {
        #[cfg(test)]
        let stage = crate::safety::disturb(stage);
        match &self.safety {
            None => f(),
            Some(safety) => safety.stage(stage, self.phase(), f),
        }
    }

    /// Passes on how a call has gone, and reports an error if somebody is to be told of it.
    #[inline(always)]
    pub(crate) fn report_failure<T, E: std::fmt::Display>(
        &self,
        operation: &'static str,
        result: Result<T, E>,
    ) -> Result<T, E> {
        if let (Err(error), Some(safety)) = (&result, &self.safety) {
            safety.failed(operation, self.phase(), error.to_string());
        }
        result
    }

    /// The phase that the loop is in, on its own thread.
    pub(crate) fn phase(&self) -> Option<Phase> {
        // SAFETY: no code of the user runs here.
        let local = unsafe { self.owner.local() }?;
        local.driven.get().then(|| local.phase.get())
    }

    /// What is noted about the next entry of an inbox.
    fn stamp_of_next(&self, inbox: &Inbox<SendTask>) -> Option<Noted> {
        #[cfg(feature = "metrics")]
        return self.shown.as_ref().map(|shown| shown.stamp_of(inbox.pushed()));
        #[cfg(not(feature = "metrics"))]
        {
            let _ = inbox;
            None
        }
    }

    /// The task of a timer that another thread sets, with what is to be noted about it.
    pub(crate) fn sent_task<F>(&self, callback: F, place: Place) -> SendTimerTask
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        if let Some(safety) = &self.safety {
            return safety.sent_timer_task(callback, place);
        }
        #[cfg(feature = "metrics")]
        if self.shown.is_some() {
            return SendTask::noted(callback, place, Noted::default());
        }
        let _ = place;
        SendTask::new(callback)
    }

    /// Has something noted about one of so many entries, a power of two.
    #[cfg(feature = "metrics")]
    pub(crate) fn note_one_of(&self, entries: u32) {
        for inbox in self.inboxes() {
            inbox.note_one_of(entries);
        }
    }

    /// How often other threads have handed something over.
    #[cfg(feature = "metrics")]
    pub(crate) fn handed_over(&self) -> u64 {
        let lanes = self.inboxes().map(Inbox::pushed);
        let all = lanes.into_iter().chain([self.timers.inbox.pushed()]);
        all.map(|pushed| pushed as u64).sum()
    }

    /// Whether anybody observes the loop.
    pub(crate) fn is_observed(&self) -> bool {
        #[cfg(feature = "metrics")]
        return self.shown.is_some();
        #[cfg(not(feature = "metrics"))]
        false
    }

    /// A task was refused because too many waited.
    #[cold]
    pub(crate) fn count_refusal(&self) {
        #[cfg(feature = "metrics")]
        if let Some(shown) = &self.shown {
            shown.refusals.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn fast_path(&self) -> FastPathMode {
        FastPathMode::from_number(self.fast_path.load(Ordering::Relaxed))
    }

    /// To be called under the lock of the table of descriptors.
    pub(crate) fn store_fast_path(&self, mode: FastPathMode) {
        self.fast_path.store(mode as u8, Ordering::Relaxed);
    }

    /// What the next sleep blocks on.
    pub(crate) fn via(&self) -> Via {
        match self.fast_path() {
            FastPathMode::Auto if self.io.is_used() => Via::Poll,
            FastPathMode::Auto | FastPathMode::Forced => Via::Park,
            FastPathMode::Disabled => Via::Poll,
        }
    }

    /// Callbacks that wait in any queue.
    pub(crate) fn pending(&self) -> usize {
        self.external.len()
            + self.internal.len()
            + self.microtasks.len()
            + self.own_queued.load(Ordering::Relaxed)
    }

    /// The time by which the limit of a turn is measured: that of a virtual clock that advances by itself,
    /// otherwise the real one.
    pub(crate) fn limit_clock(&self) -> i64 {
        match &self.clock.virtual_clock {
            Some(clock) if clock.is_auto() => clock.read(),
            _ => sys::now(),
        }
    }

    /// The limit of a turn that may wait for so long, if it can be represented. A turn that may not wait needs no clock.
    pub(crate) fn limit(&self, timeout: Duration) -> Option<i64> {
        if timeout.is_zero() {
            return Some(sys::AT_ONCE);
        }
        self.limit_clock().checked_add(clock::nanoseconds(timeout)?)
    }

    /// Whether a turn that has this limit may not wait any longer.
    pub(crate) fn is_reached(&self, limit: i64) -> bool {
        limit == sys::AT_ONCE || limit <= self.limit_clock()
    }
}

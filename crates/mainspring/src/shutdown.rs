//! The end of a loop: who begins it, in which order it goes, and who waits for it.
//!
//! # Order
//!
//! 1. The external lane is closed; then the state becomes Terminating.
//! 2. External tasks, internal tasks, futures that were woken, microtasks, the immediates that were there when it
//!    began, close callbacks; again, until all are empty and no worker is on an errand.
//! 3. The state becomes Terminated; then the internal lane and the microtasks are closed.
//! 4. What was accepted between the last look and the closing is run: the final drain.
//! 5. Futures are dropped. What is left, because somebody lost patience, is dropped, and counted. Promises that
//!    are pending are rejected. Timers and what is registered are dropped, with the sources, and are not counted.
//! 6. The poller and the wake descriptors are closed.
//! 7. Those who wait are told.
//!
//! Whether something was accepted is decided by one atomic step in each lane, so accepted equals
//! executed unless the end was forced.

use std::sync::Arc;

use crate::chunk::ChunkQueue;
use crate::clock;
use crate::end::Outcome;
use crate::fault::drop_isolated;
use crate::inbox::Inbox;
use crate::observe::Observe;
use crate::observed::observed;
use crate::phase::Phase;
use crate::probe::Point;
use crate::promise::is_on_errand;
use crate::shared::Shared;
use crate::state::{Ending, LoopState};
use crate::sync::{Ordering, yield_now};
use crate::tick::Tick;
use crate::{Cx, Deadline, Error, Queue, ShutdownStage};

/// How a shutdown went.
///
/// ```
/// use mainspring::{EventLoop, Shutdown};
/// use std::time::Duration;
///
/// let event_loop = EventLoop::new()?;
/// event_loop.handle().submit(|_| unreachable!("the loop is never driven"))?;
/// let shutdown = event_loop.handle().shutdown(Duration::from_secs(1))?;
/// assert_eq!(shutdown, Shutdown::Finished { dropped: 1 });
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shutdown {
    /// The loop has terminated.
    Finished {
        /// Callbacks that were dropped without being run, polls of woken futures among them: those of a loop that was never driven,
        /// immediates that were set during the shutdown, and what a
        /// [`close`](crate::Handle::close) by somebody else left.
        dropped: usize,
    },
    /// The loop will terminate when it is driven on: this was called on its own thread.
    Begun,
}

/// See [`Handle::shutdown`](crate::Handle::shutdown).
pub(crate) fn shutdown(shared: &Arc<Shared>, deadline: Deadline) -> Result<Shutdown, Error> {
    shared.set_deadline(deadline);
    let late = deadline.has_passed();
    let pending = if late { shared.left() } else { 0 };
    let began = begin(shared, late);
    let first = !began.from.is_ending();

    if let Some(Outcome { dropped, .. }) = began.ended {
        return Ok(Shutdown::Finished { dropped });
    }
    if shared.owner.is_current() || is_on_errand(shared) {
        return if first { Ok(Shutdown::Begun) } else { Err(Error::Terminated) };
    }
    let outcome = shared.end.wait(deadline.0);
    if !first {
        if outcome.is_none() {
            shared.begin_termination(true);
        }
        return Err(Error::Terminated);
    }
    match outcome {
        Some(Outcome { dropped: left, at }) if left > 0 && deadline.0.is_some_and(|d| d <= at) => {
            Err(Error::DeadlineExceeded { left })
        }
        Some(Outcome { dropped, .. }) => Ok(Shutdown::Finished { dropped }),
        None => {
            let left = if late { pending } else { shared.left() };
            shared.begin_termination(true);
            Err(Error::DeadlineExceeded { left })
        }
    }
}

/// Begins a shutdown like [`shutdown`] does, and leaves it to the loop to keep to the deadline.
#[cfg(all(unix, feature = "signals", not(loom)))]
pub(crate) fn shutdown_without_waiting(shared: &Arc<Shared>, deadline: Deadline) {
    shared.set_deadline(deadline);
    begin(shared, deadline.has_passed());
}

/// See [`Handle::close`](crate::Handle::close).
pub(crate) fn close(shared: &Arc<Shared>) {
    begin(shared, true);
}

/// What [`begin`] found and did.
struct Began {
    /// The state before.
    from: LoopState,
    /// How it ended, if that was done at once.
    ended: Option<Outcome>,
}

/// Begins the end of a loop, on whichever thread. One that was never driven ends at once.
fn begin(shared: &Arc<Shared>, force: bool) -> Began {
    let from = shared.begin_termination(force).from;
    let ended = (from == LoopState::Awake).then(|| {
        let outcome = shared.finish_undriven();
        if let Some(cx) = shared.owner.cx() {
            cx.0.drop_queued();
        }
        outcome
    });
    Began { from, ended }
}

impl Shared {
    /// Makes the deadline of the end earlier.
    fn set_deadline(&self, deadline: Deadline) {
        if let Some(deadline) = deadline.0 {
            self.end.set_deadline(deadline);
            self.workers.wake_waiter();
        }
    }

    /// Callbacks that wait in any queue, and errands that are under way; or those that were when the loop
    /// began to drop them.
    fn left(&self) -> usize {
        self.end.left(self.pending() + self.workers.busy())
    }

    /// Begins termination: external tasks and timers are refused from now on.
    pub(crate) fn begin_termination(&self, force: bool) -> Ending {
        // Closed first, so that whoever sees the new state is refused.
        self.stage(ShutdownStage::StopAccepting, || {
            self.external.close();
            self.timers.inbox.close();
        });
        let began = self.sleep.terminate(force);
        self.workers.wake_waiter();
        began
    }

    /// The end of a loop that was never driven, by whoever began it. Tasks that its own thread queued
    /// may not be `Send`; that thread drops them, here they are only counted.
    fn finish_undriven(&self) -> Outcome {
        let inboxes = self.inboxes();
        self.stage(ShutdownStage::Terminate, || {
            self.sleep.state.finish();
            inboxes.into_iter().for_each(Inbox::close);
        });
        let (sent, timers) = self.stage(ShutdownStage::Release, || {
            if let Some(safety) = &self.safety {
                safety.release();
            }
            let sent = ChunkQueue::new();
            for inbox in inboxes {
                // SAFETY: the loop's thread is no consumer of a loop that it has not driven and that
                // terminates: driving it needs the state Awake or Running. Only one caller can have begun
                // the termination.
                unsafe { inbox.empty(|task| sent.push(task)) };
            }
            (sent, self.timers.end_undriven())
        });
        let held: usize = inboxes.into_iter().map(Inbox::held).sum();
        let dropped = self.own_queued.load(Ordering::Relaxed) + held + sent.len();
        self.stage(ShutdownStage::ClosePoller, || {
            self.close_table();
            self.sleep.close_source();
        });
        let outcome = Outcome { dropped, at: clock::now() };
        self.stage(ShutdownStage::Complete, || self.end.complete(outcome));
        if let Some(safety) = &self.safety {
            safety.forget_hooks();
        }
        // Last, because a destructor may wait for the end of the loop.
        while let Some(task) = sent.pop() {
            drop_isolated(task);
        }
        timers.into_iter().for_each(drop_isolated);
        self.workers.end(false);
        self.newcomers.end();
        outcome
    }
}

impl Cx {
    /// Steps 2 to 7, by the loop's thread. If a callback's panic leaves this, it can be called again.
    pub(crate) fn finish(&self) {
        let local = &*self.0;
        let shared = &*local.shared;
        local.draining.set(true);
        if local.last_immediate.get().is_none() {
            local.last_immediate.set(Some(local.immediates.end()));
        }
        let drain = || observed!(self, |observe| Tick { cx: self, observe }.drain());
        shared.stage(ShutdownStage::Drain, drain);
        shared.stage(ShutdownStage::Terminate, || {
            shared.sleep.probes.reach(Point::BeforeTerminated);
            shared.sleep.state.finish();
            shared.internal.close();
            shared.microtasks.close();
        });
        shared.stage(ShutdownStage::FinalDrain, drain);
        let outcome = shared.stage(ShutdownStage::Release, || {
            let at = clock::now();
            let busy = shared.workers.busy();
            shared.end.note_left(shared.left());
            let dropped = busy + local.drop_queued();
            if let Some(safety) = &shared.safety {
                safety.released();
            }
            Outcome { dropped, at }
        });
        shared.stage(ShutdownStage::ClosePoller, || shared.sleep.close_source());
        shared.stage(ShutdownStage::Complete, || shared.end.complete(outcome));
        if let Some(safety) = &shared.safety {
            safety.forget_hooks();
        }
    }

    /// Whether nothing is queued that the end of the loop has to run.
    fn is_drained(&self) -> bool {
        let local = &*self.0;
        local.shared.pending() == local.immediates.referenced()
            && local.rejections.is_empty()
            && !local.jobs.is_pending()
    }

    /// Blocks until fewer than `busy` errands are under way, something is queued, or somebody loses patience.
    fn await_workers(&self, busy: usize) {
        let local = &*self.0;
        let shared = &*local.shared;
        let is_over = || shared.workers.busy() < busy || !self.is_drained() || !local.may_go_on();
        observed!(self, |observe| {
            observe.waits(local);
            observe.blocks(local);
            shared.workers.wait(is_over, || shared.end.time_left());
            observe.goes_on(local);
        });
    }
}

impl<O: Observe> Tick<'_, O> {
    /// Runs what is queued until nothing is left, or somebody loses patience.
    fn drain(self) {
        let local = &*self.cx.0;
        let shared = &*local.shared;
        while local.may_go_on() {
            self.cx.renew_budget();
            let ran = local.ran.get();
            self.run_lane(Phase::External, Queue::External, &local.external, &shared.external);
            self.run_lane(Phase::Internal, Queue::Internal, &local.internal, &shared.internal);
            self.run_futures();
            self.run_microtasks();
            if let Some(end) = local.last_immediate.get() {
                self.run_immediates(end);
            }
            self.run_closes();
            // In this order: what an errand has delivered at its end is found.
            let busy = shared.workers.busy();
            if self.cx.is_drained() {
                if busy == 0 {
                    return;
                }
                self.cx.await_workers(busy);
            } else if local.ran.get() == ran {
                // A push was accepted and is not complete yet.
                yield_now();
            }
        }
    }
}

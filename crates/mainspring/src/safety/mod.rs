//! The maximum-safety profile: the same loop, with every invariant checked.
//!
//! All that differs between the profiles is in this module. The rest of the loop has seams, each of which is on a way
//! that the default profile does not take, or is compiled out of it:
//!
//! | seam                                | default profile        | this profile                                 |
//! |-------------------------------------|------------------------|----------------------------------------------|
//! | who a tick tells of what it does    | `()`, or the metrics   | [`Checked`], which tells the metrics in turn |
//! | a push by another thread            | the ring of the lane   | refused by it, goes to [`Safety::send`]      |
//! | a push by the loop's own thread     | `Local::is_plain`      | `Local::push_noted_task`, to [`Safety::put`] |
//! | a change of the state word          | a compare-and-swap     | the same, by [`Safety::change`]              |
//! | a signal that was claimed           | is sent                | … and [looked at](Safety::signalled)         |
//! | a stage of the end of a loop        | is gone through        | … by [`Safety::stage`]                       |
//! | a promise that is listed            | is listed              | … if it [may be](Safety::list)               |
//! | a call that fails                   | returns an error       | … which is [told](Safety::failed)            |
//!
//! # The one mutex
//!
//! [`Ledger`] is behind it: what is known of each task, and how each queue looked after the last operation on it. Whoever
//! puts something into the external or the internal lane, or a microtask from another thread, holds it while that is done;
//! so does the loop when it takes something out, and when it decides to sleep. No code of the user runs, and nothing
//! blocks, while it is held.
//!
//! # What becomes of a violation
//!
//! It is told, and the thread that found it panics, whatever the panic policy says. After that, and while a thread
//! unwinds, nothing is checked, so that the loop can be dropped.

mod audit;
mod checked;
mod fault;
mod ledger;
mod panics;
mod queues;
mod stage;
mod submit;
mod task;
mod tell;
#[cfg(all(test, not(loom)))]
mod tests;
mod transitions;

use std::backtrace::Backtrace;
use std::fmt;
use std::sync::Arc;

pub use self::audit::{Audit, audit};
pub(crate) use self::checked::Checked;
pub use self::fault::{Fault, FaultKind};
pub(crate) use self::ledger::Ledger;
pub(crate) use self::panics::watch;
use self::stage::Stages;
#[cfg(test)]
pub(crate) use self::stage::disturb;
pub use self::stage::{ShutdownStage, StageEvent};
pub(crate) use self::task::{Notes, Ticket};
pub(crate) use self::tell::Hook;
use self::tell::{Teller, tell};
pub use self::transitions::Transition;
use crate::fault::drop_isolated;
use crate::sync::{AtomicBool, AtomicIsize, AtomicU8, Mutex, MutexGuard, Ordering, lock};
use crate::{LoopState, Phase, Queue};

/// Which trade-offs a loop makes. Its behaviour is the same.
///
/// ```
/// use mainspring::{EventLoop, Profile};
///
/// let event_loop = EventLoop::builder().profile(Profile::MaximumSafety).build()?;
/// event_loop.cx().submit(|_| println!("each step of this was checked"))?;
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// As fast as it can be. What is impossible is not checked.
    #[default]
    Performance,
    /// Every invariant is checked, before and after everything that could break it, and whatever goes wrong is
    /// reported with all that is known about it. For tests, for new embeddings, and to find a defect.
    MaximumSafety,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Performance => "performance",
            Self::MaximumSafety => "maximum safety",
        })
    }
}

/// Who is told of what the profile sees.
#[derive(Clone, Default)]
pub(crate) struct SafetyHooks {
    pub(crate) transition: Option<Hook<Transition>>,
    pub(crate) stage: Option<Hook<StageEvent>>,
    pub(crate) fault: Option<Hook<Fault>>,
}

impl SafetyHooks {
    /// The option that needs the profile, if one is set.
    pub(crate) fn needed_by(&self) -> Option<&'static str> {
        let options = [
            (self.transition.is_some(), "on_transition"),
            (self.stage.is_some(), "on_shutdown_stage"),
            (self.fault.is_some(), "on_fault"),
        ];
        options.into_iter().find_map(|(is_set, option)| is_set.then_some(option))
    }
}

impl fmt::Debug for SafetyHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SafetyHooks")
    }
}

/// What a loop of this profile has beside the others. See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Safety {
    loop_id: u64,
    /// Of the thread that the loop was built on.
    thread: Option<String>,
    /// The one mutex.
    ledger: Mutex<Ledger>,
    /// Until the end of the loop: they may hold a handle.
    hooks: Mutex<SafetyHooks>,
    transitions: Teller<LoopState, Transition>,
    stages: Teller<Stages, StageEvent>,
    /// The phase that the loop is in.
    phase: AtomicU8,
    /// Promises that are listed. Written by the loop's thread.
    promises: AtomicIsize,
    /// Whether an invariant was found broken.
    is_violated: AtomicBool,
}

impl Safety {
    /// For a loop of the current thread.
    pub(crate) fn new(loop_id: u64, hooks: SafetyHooks) -> Arc<Self> {
        panics::keep_backtraces();
        let safety = Arc::new(Self {
            loop_id,
            thread: std::thread::current().name().map(str::to_owned),
            ledger: Mutex::new(Ledger::default()),
            hooks: Mutex::new(hooks),
            transitions: Teller::new(LoopState::Awake),
            stages: Teller::new(Stages::default()),
            phase: AtomicU8::new(u8::MAX),
            promises: AtomicIsize::new(0),
            is_violated: AtomicBool::new(false),
        });
        audit::enlist(&safety);
        safety
    }

    /// Takes the one mutex.
    fn lock(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    /// Whether an invariant was found broken, so that a panic is not that of a callback.
    pub(crate) fn is_violated(&self) -> bool {
        self.is_violated.load(Ordering::Relaxed)
    }

    /// Whether an invariant that is broken would be reported: not after another one, nor on the way of a panic, which must not
    /// become two.
    fn may_violate(&self) -> bool {
        !self.is_violated() && !std::thread::panicking()
    }

    /// An invariant of the loop is broken. To be called without the mutex.
    #[cold]
    #[track_caller]
    pub(crate) fn violate(&self, broken: Broken) -> ! {
        self.is_violated.store(true, Ordering::Relaxed);
        let Broken { operation, phase, task, cause } = broken;
        let (task, described) = match task {
            Some(task) => (Some(task), self.lock().describe(task)),
            None => (None, None),
        };
        let fault = Fault {
            kind: FaultKind::Violation,
            operation,
            phase,
            task,
            described,
            loop_id: self.loop_id,
            cause,
            backtrace: Some(Backtrace::force_capture()),
        };
        tell(self.hooks().fault.as_ref(), &fault);
        panic!("{fault}");
    }

    /// Something failed that a caller is told as well.
    #[cold]
    pub(crate) fn failed(&self, operation: &'static str, phase: Option<Phase>, cause: String) {
        self.report(FaultKind::Error, operation, phase, None, cause, None);
    }

    /// Who is told.
    fn hooks(&self) -> SafetyHooks {
        lock(&self.hooks).clone()
    }

    /// Nobody is told any more: the loop has ended.
    pub(crate) fn forget_hooks(&self) {
        let hooks = std::mem::take(&mut *lock(&self.hooks));
        drop_isolated(hooks);
    }

    /// The queues are emptied for good, or for as long as the loop is not driven.
    pub(crate) fn release(&self) {
        self.lock().is_over = true;
    }

    /// Everything was run or dropped: nothing may be left.
    pub(crate) fn released(&self) {
        let (tasks, promises) =
            (self.lock().oldest(|_| true), self.promises.load(Ordering::Relaxed));
        if !self.may_violate() || tasks.is_none() && promises == 0 {
            return;
        }
        let cause = match tasks {
            Some(task) => format!("task {task} was neither run nor dropped"),
            None => format!("{promises} promises are listed after the end of the loop"),
        };
        self.violate(Broken { operation: "shut down", phase: None, task: tasks, cause });
    }

    fn report(
        &self,
        kind: FaultKind,
        operation: &'static str,
        phase: Option<Phase>,
        task: Option<u64>,
        cause: String,
        backtrace: Option<Backtrace>,
    ) -> Option<Backtrace> {
        let hook = self.hooks().fault;
        if hook.is_none() {
            return backtrace;
        }
        let described = task.and_then(|task| self.lock().describe(task));
        let loop_id = self.loop_id;
        let fault = Fault { kind, operation, phase, task, described, loop_id, cause, backtrace };
        tell(hook.as_ref(), &fault);
        fault.backtrace
    }
}

/// What is known about an invariant that is broken.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) operation: &'static str,
    pub(crate) phase: Option<Phase>,
    pub(crate) task: Option<u64>,
    pub(crate) cause: String,
}

/// What an operation on a queue is called in a report.
fn submitting(queue: Queue) -> &'static str {
    match queue {
        Queue::External => "submit",
        Queue::Internal => "submit_internal",
        Queue::Microtasks => "queue_microtask",
        Queue::NextTicks => "next_tick",
        Queue::Immediates => "set_immediate",
        Queue::Closes => "queue_close",
        Queue::Futures => "spawn_local",
    }
}

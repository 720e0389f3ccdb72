//! What the loops of this profile are doing, for whoever looks for one that does not get on.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Safety;
use crate::sync::Ordering;
use crate::{LoopState, Phase, Queue};

/// What a loop of [`Profile::MaximumSafety`](crate::Profile::MaximumSafety) is doing. See [`audit`].
///
/// ```
/// use mainspring::{EventLoop, Profile, audit};
///
/// let event_loop = EventLoop::builder().profile(Profile::MaximumSafety).build()?;
/// event_loop.cx().submit(|_| ())?;
/// let id = event_loop.handle().id();
/// let found = audit().into_iter().find(|audit| audit.loop_id == id).unwrap();
/// assert_eq!((found.tasks, found.made), (1, 1));
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Audit {
    /// The [number](crate::Handle::id) of the loop.
    pub loop_id: u64,
    /// The name of the thread that it was built on, if that has one.
    pub thread: Option<String>,
    /// Its state.
    pub state: LoopState,
    /// The phase that it is in. None between two phases, and while it waits.
    pub phase: Option<Phase>,
    /// What is known of the task that runs, if one does.
    pub running: Option<String>,
    /// How many tasks each queue holds.
    pub queued: Vec<(Queue, usize)>,
    /// How many tasks and timers are neither run nor dropped.
    pub tasks: usize,
    /// How many tasks and timers were ever made.
    pub made: u64,
    /// How many promises are listed, to be rejected at the end of the loop.
    pub promises: usize,
}

impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thread = self.thread.as_deref().unwrap_or("without a name");
        write!(f, "loop {} of thread `{thread}`: {}", self.loop_id, self.state)?;
        match self.phase {
            Some(phase) => write!(f, ", in phase `{phase}`")?,
            None => f.write_str(", in no phase")?,
        }
        match &self.running {
            Some(running) => write!(f, ", runs a task: {running}")?,
            None => f.write_str(", runs no task")?,
        }
        for (queue, entries) in &self.queued {
            write!(f, ", {entries} in queue `{queue}`")?;
        }
        let Self { tasks, made, promises, .. } = self;
        write!(f, "; {tasks} tasks and timers of {made} are left, {promises} promises are listed")
    }
}

static LOOPS: Mutex<Vec<Weak<Safety>>> = Mutex::new(Vec::new());

/// Puts a loop on the list, and takes those off it that are gone.
pub(super) fn enlist(safety: &Arc<Safety>) {
    let mut loops = LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
    loops.retain(|other| other.strong_count() != 0);
    loops.push(Arc::downgrade(safety));
}

/// What all the loops of [`Profile::MaximumSafety`](crate::Profile::MaximumSafety) in this process are doing, those included of
/// which only a handle or a task is left. For any thread, such as one that looks for a deadlock: it does not wait for a loop.
///
/// ```
/// for audit in mainspring::audit() {
///     eprintln!("{audit}"); // loop 1 of thread `main`: running, in phase `timers`, runs a task: …
/// }
/// ```
#[must_use]
pub fn audit() -> Vec<Audit> {
    let loops = LOOPS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    loops.iter().filter_map(Weak::upgrade).map(|safety| safety.audit()).collect()
}

impl Safety {
    fn audit(&self) -> Audit {
        let state = self.transitions.step(|state| (*state, None));
        let ledger = self.lock();
        let queued = Queue::ALL.iter().map(|&queue| (queue, ledger.queued(queue)));
        Audit {
            loop_id: self.loop_id,
            thread: self.thread.clone(),
            state,
            phase: self.phase(),
            running: ledger.executing().and_then(|task| ledger.describe(task)),
            queued: queued.filter(|&(_, entries)| entries != 0).collect(),
            tasks: ledger.alive(),
            made: ledger.made(),
            promises: self.promises.load(Ordering::Relaxed).max(0).cast_unsigned(),
        }
    }

    /// The phase that the loop is in.
    pub(super) fn phase(&self) -> Option<Phase> {
        Phase::ALL.get(usize::from(self.phase.load(Ordering::Relaxed))).copied()
    }

    /// Notes which phase the loop is in.
    pub(super) fn does(&self, phase: Option<Phase>) {
        let number = phase.map_or(u8::MAX, |phase| phase as u8);
        self.phase.store(number, Ordering::Relaxed);
    }
}

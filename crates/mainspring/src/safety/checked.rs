//! Who is told of what a loop of this profile does, and checks it. Tells the metrics in turn, if there are any.

use std::sync::Arc;

use super::{Broken, Ledger, Safety};
use crate::local::Local;
#[cfg(feature = "metrics")]
use crate::metrics::Observer;
use crate::observe::{Decision, Observe};
use crate::state::StateWord;
use crate::sync::MutexGuard;
use crate::task::{Run, TakenTask, TimerTask};
use crate::{Cx, Phase, Queue};

/// Whoever is told of it without this profile.
#[cfg(feature = "metrics")]
type Other<'a> = Option<&'a Observer>;
#[cfg(not(feature = "metrics"))]
type Other<'a> = Option<()>;

/// See the [module documentation](self).
#[derive(Clone, Copy)]
pub(crate) struct Checked<'a> {
    safety: &'a Arc<Safety>,
    other: Other<'a>,
}

impl<'a> Checked<'a> {
    pub(crate) fn new(safety: &'a Arc<Safety>, other: Other<'a>) -> Self {
        Self { safety, other }
    }

    /// What is wrong with a queue is a violation.
    fn require(
        self,
        ledger: MutexGuard<'_, Ledger>,
        local: &Local,
        task: Option<u64>,
        checked: Result<(), String>,
    ) {
        drop(ledger);
        if let Err(cause) = checked
            && self.safety.may_violate()
        {
            let phase = Some(local.phase.get());
            self.safety.violate(Broken { operation: "take a task", phase, task, cause });
        }
    }
}

/// A loop that is about to sleep holds the mutex until it has looked for work.
pub(crate) struct Locked<'a> {
    ledger: MutexGuard<'a, Ledger>,
    safety: &'a Safety,
}

impl Decision for Locked<'_> {
    fn made(self, state: &StateWord, has_work: impl Fn() -> bool) -> bool {
        let Self { ledger, safety } = self;
        let found = has_work();
        let forgotten = if found || ledger.is_over { None } else { ledger.forgotten() };
        drop(ledger);
        if let Some(task) = forgotten
            && safety.may_violate()
        {
            let cause = format!("the loop is about to sleep, and task {task} waits");
            safety.violate(Broken { operation: "sleep", phase: None, task: Some(task), cause });
        }
        if !found {
            safety.tell_transitions();
        }
        // Who is told may have queued something, or may have used up the signal that has ended the sleep meanwhile.
        found || has_work() || state.is_signalled()
    }
}

impl Ledger {
    /// A task that waits for its turn in a queue that keeps the loop awake.
    fn forgotten(&self) -> Option<u64> {
        let keeps_awake = |queue| !matches!(queue, Queue::Immediates | Queue::Futures);
        let queues = Queue::ALL.iter().copied().filter(|&queue| keeps_awake(queue));
        let is_one = queues.map(|queue| self.queued(queue)).sum::<usize>() != 0;
        is_one.then(|| self.oldest(|queue| queue.is_some_and(keeps_awake))).flatten()
    }
}

/// Passes on what is not checked.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $name(self, $($argument: $type),*) {
            if let Some(other) = self.other {
                Observe::$name(other, $($argument),*);
            }
        })*
    };
}

impl<'a> Observe for Checked<'a> {
    type Decision = Locked<'a>;

    pass_on! {
        enters();
        tick_ends(local: &Local);
        timer_was_due(deadline: i64);
        panicked(local: &Local, phase: Phase);
        checkpoint_begins(local: &Local);
        checkpoint_ends(local: &Local);
        microtask_begins(local: &Local, phase: Phase);
        microtask_ends(local: &Local, phase: Phase);
        looked(local: &Local);
        blocks(local: &Local);
    }

    fn tick_begins(self, local: &Local) {
        self.safety.does(None);
        if let Some(other) = self.other {
            other.tick_begins(local);
        }
    }

    fn phase_begins(self, local: &Local, phase: Phase) {
        self.safety.does(Some(phase));
        if let Some(other) = self.other {
            other.phase_begins(local, phase);
        }
    }

    fn phase_ends(self, local: &Local, phase: Phase) {
        self.safety.does(None);
        if let Some(other) = self.other {
            other.phase_ends(local, phase);
        }
    }

    fn waits(self, local: &Local) {
        self.safety.does(None);
        if let Some(other) = self.other {
            other.waits(local);
        }
    }

    fn goes_on(self, local: &Local) {
        if let Some(other) = self.other {
            other.goes_on(local);
        }
    }

    fn note_timer(self, task: &mut TimerTask) {
        let id = task.origin().task;
        let begun = self.safety.lock().begin(id);
        if let Err(cause) = begun
            && self.safety.may_violate()
        {
            let phase = Some(Phase::Timers);
            self.safety.violate(Broken { operation: "take a timer", phase, task: Some(id), cause });
        }
        if let Some(other) = self.other {
            other.note_timer(task);
        }
    }

    fn take(
        self,
        local: &Local,
        queue: Queue,
        pop: impl FnOnce() -> Option<TakenTask>,
    ) -> Option<TakenTask> {
        let mut ledger = self.safety.lock();
        let checked = ledger.check(local, queue, true);
        if checked.is_err() {
            self.require(ledger, local, None, checked);
            return pop();
        }
        let Some(ready) = pop() else {
            let checked = ledger.check(local, queue, false);
            self.require(ledger, local, None, checked);
            return None;
        };
        let id = ready.number();
        let ready = ready.hand_over(&local.handover);
        let begun = ledger.begin(id).and_then(|()| ledger.check(local, queue, false));
        self.require(ledger, local, Some(id), begun);
        Some(ready)
    }

    fn run(self, cx: &Cx, phase: Phase, callback: impl Run) {
        if phase == Phase::Io {
            self.check_table(cx);
        }
        match self.other {
            None => callback.run(cx),
            Some(other) => Observe::run(other, cx, phase, callback),
        }
        if phase == Phase::Io {
            self.check_table(cx);
        }
    }

    fn decides(self) -> Locked<'a> {
        Locked { ledger: self.safety.lock(), safety: self.safety }
    }
}

impl Checked<'_> {
    /// The table of descriptors, before and after a callback of one.
    fn check_table(self, cx: &Cx) {
        if let Some(cause) = cx.0.shared.io.defect()
            && self.safety.may_violate()
        {
            let phase = Some(Phase::Io);
            let operation = "run a callback of a descriptor";
            self.safety.violate(Broken { operation, phase, task: None, cause });
        }
    }
}

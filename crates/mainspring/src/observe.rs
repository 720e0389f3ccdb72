//! What a tick tells of itself.
//!
//! A tick is written once, for any [`Observe`]. For `()`, to whom nothing is told, the compiler removes the
//! telling, so a loop that is not observed runs the same instructions as if none of this existed. Which of them
//! a loop tells is decided in `observed.rs`.

use crate::local::Local;
use crate::state::StateWord;
use crate::task::{Run, TakenTask, TimerTask};
use crate::{Cx, Phase, Queue};

/// What a loop that is about to sleep does while it looks for work the last time.
pub(crate) trait Decision {
    /// Tells whether there is work, or the sleep that is published has been ended.
    fn made(self, state: &StateWord, has_work: impl Fn() -> bool) -> bool;
}

impl Decision for () {
    #[inline(always)]
    fn made(self, _: &StateWord, has_work: impl Fn() -> bool) -> bool {
        has_work()
    }
}

/// Is told of what a loop does, by its thread.
pub(crate) trait Observe: Copy {
    type Decision: Decision;

    /// The loop is about to decide whether it sleeps.
    fn decides(self) -> Self::Decision;
    /// Takes the next task out of a queue, by `pop`.
    #[inline(always)]
    fn take(
        self,
        _: &Local,
        _: Queue,
        pop: impl FnOnce() -> Option<TakenTask>,
    ) -> Option<TakenTask> {
        pop()
    }
    /// A call that drives the loop begins.
    fn enters(self);
    fn tick_begins(self, local: &Local);
    fn tick_ends(self, local: &Local);
    fn phase_begins(self, local: &Local, phase: Phase);
    /// A phase ends that has run something.
    fn phase_ends(self, local: &Local, phase: Phase);
    /// The timer that is run next was due then.
    fn timer_was_due(self, deadline: i64);
    /// And it is this one.
    fn note_timer(self, task: &mut TimerTask);
    /// Runs a callback of a phase.
    fn run(self, cx: &Cx, phase: Phase, callback: impl Run);
    /// A callback, or a microtask, has ended in a panic.
    fn panicked(self, local: &Local, phase: Phase);
    fn checkpoint_begins(self, local: &Local);
    fn checkpoint_ends(self, local: &Local);
    fn microtask_begins(self, local: &Local, phase: Phase);
    fn microtask_ends(self, local: &Local, phase: Phase);
    /// The loop has looked for descriptors that are ready.
    fn looked(self, local: &Local);
    /// The loop begins to wait for something to do.
    fn waits(self, local: &Local);
    /// It has given up to look for it by itself, and blocks.
    fn blocks(self, local: &Local);
    fn goes_on(self, local: &Local);
}

/// Nobody is told anything.
impl Observe for () {
    type Decision = ();

    #[inline(always)]
    fn decides(self) {}
    #[inline(always)]
    fn enters(self) {}
    #[inline(always)]
    fn tick_begins(self, _: &Local) {}
    #[inline(always)]
    fn tick_ends(self, _: &Local) {}
    #[inline(always)]
    fn phase_begins(self, _: &Local, _: Phase) {}
    #[inline(always)]
    fn phase_ends(self, _: &Local, _: Phase) {}
    #[inline(always)]
    fn timer_was_due(self, _: i64) {}
    #[inline(always)]
    fn note_timer(self, _: &mut TimerTask) {}
    #[inline(always)]
    fn run(self, cx: &Cx, _: Phase, callback: impl Run) {
        callback.run(cx);
    }
    #[inline(always)]
    fn panicked(self, _: &Local, _: Phase) {}
    #[inline(always)]
    fn checkpoint_begins(self, _: &Local) {}
    #[inline(always)]
    fn checkpoint_ends(self, _: &Local) {}
    #[inline(always)]
    fn microtask_begins(self, _: &Local, _: Phase) {}
    #[inline(always)]
    fn microtask_ends(self, _: &Local, _: Phase) {}
    #[inline(always)]
    fn looked(self, _: &Local) {}
    #[inline(always)]
    fn waits(self, _: &Local) {}
    #[inline(always)]
    fn blocks(self, _: &Local) {}
    #[inline(always)]
    fn goes_on(self, _: &Local) {}
}

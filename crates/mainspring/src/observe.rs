//! What a tick tells of itself, and to whom.
//!
//! A tick is written once, for any [`Observe`]. For `()`, to whom nothing is told, the compiler removes the
//! telling, so a loop that is not observed runs the same instructions as if none of this existed. Which of both
//! drives a loop is decided once for each call that drives it.

use crate::local::Local;
use crate::task::Run;
use crate::timer::TimerTask;
use crate::{Cx, Phase};

/// When something was queued, and by which thread: nanoseconds, modulo 2^48, and a number of 16 bits. Zero if
/// that was not noted.
#[cfg(feature = "metrics")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp(pub(crate) u64);

/// Does something with whoever observes the loop, or with `()`: `observed!(cx, |observe| …)`.
macro_rules! observed {
    ($cx:expr, |$observe:ident| $body:expr) => {
        match $cx.0.observer() {
            None => {
                let $observe = ();
                $body
            }
            Some($observe) => $body,
        }
    };
}
pub(crate) use observed;

#[cfg(not(feature = "metrics"))]
impl Local {
    /// Nobody can observe it.
    #[inline(always)]
    pub(crate) fn observer(&self) -> Option<()> {
        None
    }
}

/// Is told of what a loop does, by its thread.
pub(crate) trait Observe: Copy {
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
    fn timer_is(self, task: &mut TimerTask);
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
    fn timer_is(self, _: &mut TimerTask) {}
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

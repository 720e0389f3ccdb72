//! The states of the loop, watched: each transition is checked against the table, and told.

use std::time::Instant;

use super::{Broken, Safety};
use crate::{LoopState, clock};

/// A loop has come from one state to another. See [`Builder::on_transition`](crate::Builder::on_transition).
///
/// ```
/// use mainspring::{EventLoop, Profile};
///
/// let event_loop = EventLoop::builder()
///     .profile(Profile::MaximumSafety)
///     .on_transition(|change| println!("{} to {} at {:?}", change.from, change.to, change.at))
///     .build()?;
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Transition {
    /// The [number](crate::Handle::id) of the loop.
    pub loop_id: u64,
    /// The state before.
    pub from: LoopState,
    /// The state after.
    pub to: LoopState,
    /// When that was.
    pub at: Instant,
}

/// Whether a transition is in the table.
fn is_valid(from: LoopState, to: LoopState) -> bool {
    use LoopState::{Awake, Running, Sleeping, Terminated, Terminating};
    matches!(
        (from, to),
        (Awake, Running)
            | (Running, Sleeping)
            | (Sleeping, Running)
            | (Awake | Running | Sleeping, Terminating)
            | (Terminating, Terminated)
    )
}

impl Safety {
    /// Makes a transition by `change`, which tells whether it was made. They are told in the order in which they are made.
    pub(crate) fn change<R, E>(
        &self,
        from: LoopState,
        to: LoopState,
        change: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        if from == to {
            return change();
        }
        if !is_valid(from, to) && self.may_violate() {
            let cause = format!("the state goes from {from} to {to}");
            let operation = "change the state";
            self.violate(Broken { operation, phase: None, task: None, cause });
        }
        let changed = self.transitions.step(|state| {
            let changed = change();
            let event = changed.is_ok().then(|| {
                *state = to;
                Transition { loop_id: self.loop_id, from, to, at: clock::now() }
            });
            (changed, event)
        });
        // That it sleeps is published under the mutex, and told by whoever holds that.
        if to != LoopState::Sleeping {
            self.tell_transitions();
        }
        changed
    }

    /// Tells of transitions that were not told yet.
    pub(super) fn tell_transitions(&self) {
        self.transitions.tell(self.hooks().transition.as_ref());
    }
}

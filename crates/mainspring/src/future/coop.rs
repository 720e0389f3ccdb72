//! How much one poll of a future may do.
//!
//! A future whose descriptors are always ready would never return to the loop. So each poll may do a number of
//! operations; when they are spent, everything that it awaits says that it is not ready, and the future is woken
//! in the next tick. What is spent stays spent for the rest of the poll, or one that waits for two things would
//! take turns between them for ever.
//!
//! Sleeps that are over have a number of their own: a timeout of something that is always ready is to end it.
//!
//! The numbers are renewed before each poll, and once in each tick, for those who poll in a callback. Outside of
//! ticks, where others poll, one is renewed as soon as it was found to be spent.

use std::cell::Cell;
use std::task::Context;

use crate::local::Local;

/// How many operations a poll may do.
const OPERATIONS: u32 = 128;

/// What the present poll may still do.
pub(crate) struct Coop {
    pub(crate) operations: Cell<u32>,
    pub(crate) sleeps: Cell<u32>,
}

impl Coop {
    pub(crate) fn new() -> Self {
        Self { operations: Cell::new(OPERATIONS), sleeps: Cell::new(OPERATIONS) }
    }

    pub(crate) fn renew(&self) {
        self.operations.set(OPERATIONS);
        self.sleeps.set(OPERATIONS);
    }
}

impl Local {
    /// One more was done.
    #[inline]
    pub(crate) fn spend(&self, left: impl FnOnce(&Coop) -> &Cell<u32>) {
        let left = left(&self.coop);
        left.set(left.get().saturating_sub(1));
    }

    /// Whether the others are to go first. Then the task will be woken after that.
    #[inline]
    pub(crate) fn is_spent(
        &self,
        left: impl FnOnce(&Coop) -> &Cell<u32>,
        context: &Context<'_>,
    ) -> bool {
        let is_spent = left(&self.coop).get() == 0;
        if is_spent {
            self.let_others_go_first(context);
        }
        is_spent
    }

    #[cold]
    fn let_others_go_first(&self, context: &Context<'_>) {
        if self.driven.get() {
            self.defer_future(context.waker().clone());
        } else {
            // There may be no next tick.
            self.coop.renew();
            context.waker().wake_by_ref();
        }
    }
}

//! How much one poll of a future may do.
//!
//! A future whose descriptors are always ready would never return to the loop. So each poll may do a number of
//! operations; when they are spent, everything that it awaits says that it is not ready, and the future is woken
//! in the next tick. What is spent stays spent for the rest of the poll, or one that waits for two things would
//! take turns between them for ever.
//!
//! The number is renewed before each poll, and once in each tick, for those who poll in a callback. Outside of
//! ticks, where others poll, it is renewed as soon as it was found to be spent.

use std::task::Context;

use crate::local::Local;

/// How many operations a poll may do.
pub(crate) const COOP: u32 = 128;

impl Local {
    pub(crate) fn renew_coop(&self) {
        self.coop.set(COOP);
    }

    /// One more was done.
    #[inline]
    pub(crate) fn spend_coop(&self) {
        self.coop.set(self.coop.get().saturating_sub(1));
    }

    /// Whether the others are to go first. Then the task will be woken after that.
    #[inline]
    pub(crate) fn is_coop_spent(&self, context: &Context<'_>) -> bool {
        let is_spent = self.coop.get() == 0;
        if is_spent {
            self.yield_coop(context);
        }
        is_spent
    }

    #[cold]
    fn yield_coop(&self, context: &Context<'_>) {
        if self.driven.get() {
            self.defer_future(context.waker().clone());
        } else {
            // There may be no next tick.
            self.renew_coop();
            context.waker().wake_by_ref();
        }
    }
}

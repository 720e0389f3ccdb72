//! Futures, run by the loop.
//!
//! A future that was woken is polled in the futures phase: after the internal lane and before the external one, in
//! the order of the wakes, each poll followed by a checkpoint, up to a budget in each tick. The loop's thread
//! polls and drops it, so it need not be `Send`; its [wakers](waker) are for all threads.

mod abort;
mod block_on;
mod cell;
mod coop;
mod futures;
mod join;
mod spawn;
mod waker;
mod yield_now;

pub use self::abort::{AbortHandle, AbortOnDrop};
pub(crate) use self::coop::Coop;
pub(crate) use self::futures::Futures;
#[cfg(not(loom))]
pub(crate) use self::futures::wake_isolated;
pub use self::join::{JoinError, JoinHandle};
pub use self::yield_now::YieldNow;

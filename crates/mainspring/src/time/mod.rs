//! Waiting for a time, as futures.
//!
//! Each of these is a [`Sleep`] with something around it, and a sleep is a timer that wakes a future. The timer
//! is there while somebody waits, and not longer. It does not keep the loop alive: the future that waits does,
//! if the loop runs it.
//!
//! The time that decides is the one at which the loop's tick began, as everywhere. So at most one tick of an
//! interval is due in each tick of the loop, and a future that is slower than its interval starves nobody.

mod interval;
mod sleep;
mod timeout;

pub use interval::Interval;
pub use sleep::Sleep;
pub use timeout::Timeout;

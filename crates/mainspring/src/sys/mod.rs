//! What the loop needs of the system in order to block.
//!
//! # The contract of a backend
//!
//! A backend is a module with a type `WakeSource`, which ends a wait in the poller from any thread:
//!
//! * `new() -> io::Result<WakeSource>`. On failure nothing is left open.
//! * `wake(&self) -> io::Result<()>`, from any thread. After it returns `Ok`, a wait that is under way
//!   returns, and if none is, the next one returns at once. It never blocks, and any number of
//!   wakes may count as one. Transient failures are dealt with inside.
//! * `wait(&self, deadline) -> io::Result<()>`, by the loop's thread alone. Returns after a wake or at
//!   the deadline, a time as [`now`] tells it, having consumed all wakes that came before it returned. It
//!   may return early for no reason. An interrupted wait goes on, and keeps its deadline. An error means
//!   that waiting is impossible from now on.
//! * Dropping it closes what `new` opened. `wake` is never called on a source that was closed: whoever
//!   wakes holds a reference.
//!
//! | backend   | where                     | wait               | wake               | deadline  |
//! |-----------|---------------------------|--------------------|--------------------|-----------|
//! | `eventfd` | Linux                     | `ppoll`            | `write` of eventfd | `timerfd` |
//! | `condvar` | elsewhere, and under loom | condition variable | notify             | time-out  |
//!
//! The [`Parker`] is the other way to block, for a loop that has nothing to poll: the thread's own
//! token, which is a futex on Linux and the best primitive of its kind elsewhere.

#[cfg(all(not(loom), target_os = "linux"))]
mod call;
#[cfg(any(loom, not(target_os = "linux")))]
mod condvar;
#[cfg(all(not(loom), target_os = "linux"))]
mod eventfd;
mod parker;
mod time;
#[cfg(all(not(loom), target_os = "linux"))]
mod timerfd;

#[cfg(all(test, not(loom), target_os = "linux"))]
pub(crate) use self::call::faults;
#[cfg(any(loom, not(target_os = "linux")))]
pub(crate) use self::condvar::WakeSource;
#[cfg(all(not(loom), target_os = "linux"))]
pub(crate) use self::eventfd::WakeSource;
pub(crate) use self::parker::Parker;
pub(crate) use self::time::now;

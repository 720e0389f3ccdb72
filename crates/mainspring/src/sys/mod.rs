//! What the loop needs of the system in order to block.
//!
//! # The contract of a backend
//!
//! A backend is a module with a type `Poller`, which waits for descriptors and can be woken, and a type
//! `Events`, the buffer that it fills. The [table](crate::io) sees to it that a backend is asked for
//! nothing that makes no sense.
//!
//! * `Poller::new() -> io::Result<Poller>`. On failure nothing is left open.
//! * `wake(&self) -> io::Result<()>`, from any thread. After it returns `Ok`, a wait that is under way
//!   returns, and if none is, the next one returns at once. It never blocks, and any number of
//!   wakes may count as one. Transient failures are dealt with inside.
//! * `wait(&self, &mut Events, deadline) -> io::Result<()>`, by the loop's thread alone. Returns with the
//!   events that it found, after a wake, or at the deadline: a time as [`now`] tells it, or [`AT_ONCE`],
//!   with which it looks and does not wait. It has consumed all wakes that came before it returned, and may
//!   return early for no reason. An interrupted wait goes on, and keeps its deadline. An error means that
//!   waiting is impossible from now on. The buffer is never moved, and if more descriptors are ready than it
//!   holds, none waits for ever.
//! * `add(&self, fd, token, interest)`, `modify(..)`, `delete(&self, fd)`, from any thread, also while the
//!   loop waits, and effective for that wait. On failure nothing has changed. The numbers of the system's
//!   errors come through: `EEXIST` for a descriptor that is there already, `ENOENT` for one that is not,
//!   `EBADF` for one that is closed. What was done before a call of `add` or `modify` is seen by whoever gets
//!   an event because of it: the system's own locks see to that.
//! * An event has the token of the registration that it belongs to, of which [`TOKEN_BITS`] bits are kept,
//!   and [`Flags`]. There are [`EVENTS_EACH`] of one descriptor in one wait at the most. Errors and hang-ups
//!   are reported whatever the interest is. A backend that cannot tell everything apart says
//!   [`Flags::UNSURE`], and the loop will [`ask`], which may also find that the descriptor is closed.
//! * A backend with [`TELLS_READ_END`] says [`Flags::READ_END`] of a registration that asks for it.
//! * An interest is level-triggered, edge-triggered, one-shot (after one event nothing is reported until
//!   `modify`), or both of the latter. An empty one is for errors and hang-ups alone. A backend without
//!   [`HAS_EDGES`] refuses what is edge-triggered, but for an empty interest, of which it reports a reset once.
//! * Dropping a poller closes what `new` opened. It is never used after that: whoever uses it holds a
//!   reference.
//!
//! | backend    | where                                     | waits       | is woken by        | deadline     |
//! |------------|-------------------------------------------|-------------|--------------------|--------------|
//! | `epoll`    | Linux                                     | `epoll`     | `eventfd`          | `timerfd`    |
//! | `portable` | elsewhere; `--cfg mainspring_portable`    | `polling`   | `Poller::notify`   | the crate's  |
//! | `model`    | under loom                                | a condition variable | the same  | none         |
//!
//! What differs between the first two is on the first page of `portable.rs`.
//!
//! The [`Parker`] is the other way to block, for a loop that has nothing to poll: the thread's own
//! token, which is a futex on Linux and the best primitive of its kind elsewhere.

#[cfg(all(target_os = "linux", not(loom), not(mainspring_portable)))]
mod call;
#[cfg(all(test, not(loom), target_os = "linux"))]
mod contract;
mod event;
#[cfg(all(test, not(loom)))]
// Most of the tests that inject something are for Linux, and some for its own poller.
#[cfg_attr(any(mainspring_portable, not(target_os = "linux")), allow(dead_code))]
pub(crate) mod faults;
mod parker;
#[cfg_attr(all(target_os = "linux", not(loom), not(mainspring_portable)), path = "epoll.rs")]
#[cfg_attr(loom, path = "model.rs")]
#[cfg_attr(
    all(not(loom), any(not(target_os = "linux"), mainspring_portable)),
    path = "portable.rs"
)]
mod poller;
mod source;
mod time;
#[cfg(all(target_os = "linux", not(loom), not(mainspring_portable)))]
mod timerfd;

pub(crate) use self::event::{Event, Flags};
pub(crate) use self::parker::Parker;
pub(crate) use self::poller::{EVENTS_EACH, Events, Poller, TOKEN_BITS, ask};
#[cfg(not(loom))]
pub(crate) use self::poller::{HAS_EDGES, TELLS_READ_END};
pub(crate) use self::source::{AsFd, BorrowedFd, RawFd, number};
#[cfg(not(loom))]
pub(crate) use self::source::{OwnedFd, as_fd};
pub(crate) use self::time::now;

/// The deadline of a wait that does not wait.
pub(crate) const AT_ONCE: i64 = i64::MIN;

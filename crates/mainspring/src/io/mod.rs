//! Descriptors: who is registered, what happens to them, and who is called.
//!
//! There is one table, and two ways into it:
//!
//! | | a descriptor that is registered | one that is not |
//! |---|---|---|
//! | `register_fd`, `modify_fd`, `unregister_fd` (strict, any thread) | is refused | is an error to change |
//! | `watch`, `unwatch` (the loop's thread) | is replaced | is nothing to remove |
//!
//! # Rules
//!
//! 1. A descriptor has one live registration at the most.
//! 2. An event reaches the registration that it was reported for, or nobody. See [`slot`].
//! 3. Within one event: error, read, write. See [`readiness`].
//! 4. Before each callback the registration is looked at anew: what a callback removed or no longer asks for
//!    is not delivered, be it the rest of its own event or another one of the batch.
//! 5. What a callback registers is heard of in the next tick at the earliest.
//! 6. No lock and no borrow is held while the loop waits or a callback runs.
//! 7. A replacement that the system refuses leaves the old registration as it was.
//!
//! # How an event that nobody wants does not spin the loop
//!
//! * A hang-up or an error without a listener: the registration is *muted*, so that the system reports edges
//!   only, until something comes that somebody listens to. See [`Word::request`](slot::Word::request).
//! * A registration that the system keeps although its descriptor was closed, because another descriptor of
//!   the same file exists: an event of this kind makes the loop
//!   [build its poller anew](crate::shared::Shared::rebuild_poller). What is edge-triggered and ready is
//!   reported once more by that.

#[cfg(not(loom))]
mod async_fd;
mod dispatch;
#[cfg(all(test, not(loom), target_os = "linux"))]
mod faults;
#[cfg(all(feature = "futures-io", not(loom)))]
mod futures;
#[cfg(all(test, unix, not(loom)))]
mod races;
mod readiness;
#[cfg(not(loom))]
mod ready;
mod register;
mod registry;
mod slot;
mod table;
mod watch;
mod watcher;

#[cfg(not(loom))]
pub use self::async_fd::AsyncFd;
pub(crate) use self::dispatch::Watchers;
pub use self::readiness::Readiness;
#[cfg(not(loom))]
pub(crate) use self::ready::Direction;
pub use self::register::RegisterError;
pub(crate) use self::registry::Io;
pub use self::watch::Watch;
pub use self::watcher::Watcher;

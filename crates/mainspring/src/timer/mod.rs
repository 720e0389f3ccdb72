//! Timers.
//!
//! | file | what |
//! |---|---|
//! | `id` | the names of timers |
//! | `claim` | who decides what becomes of a timer, when several threads try |
//! | `page`, `slots` | where timers are kept, and how they are found |
//! | `wheel`, `bitmap` | those that are far away |
//! | `near` | those that are due soon, in exact order |
//! | `store` | both together |
//! | `timers` | the store as the loop uses it |
//! | `remote` | the store as other threads reach it |
//! | `set` | the interface for the loop's thread |
//! | `handle` | the interface for any thread |
//! | `interval` | what fires again and again |
//! | `nesting` | how HTML clamps delays |
//! | `counts`, `oracle`, `races` | tests: what is counted and dropped, the store against a sorted list, forced races |

mod bitmap;
mod claim;
#[cfg(all(test, not(loom)))]
mod counts;
mod handle;
mod id;
mod interval;
mod near;
mod nesting;
#[cfg(all(test, not(loom)))]
mod oracle;
mod page;
#[cfg(all(test, not(loom)))]
mod races;
mod remote;
mod set;
mod slots;
mod store;
mod timers;
mod wheel;

pub use self::id::TimerId;
pub use self::nesting::TimerNesting;
#[cfg(fuzzing)]
pub(crate) use self::page::Directory;
pub(crate) use self::remote::Remote;
#[cfg(fuzzing)]
pub(crate) use self::slots::Slots;
#[cfg(fuzzing)]
pub(crate) use self::store::Store;
pub(crate) use self::timers::{Referenced, Timers};

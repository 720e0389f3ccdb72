//! Aborting what is under way: controllers and signals, as in the DOM standard, for all threads.

mod aborted;
mod controller;
mod core;
mod error;
mod listener;
mod signal;
#[cfg(all(test, not(loom)))]
mod tests;
mod timeout;

pub use aborted::Aborted;
pub use controller::AbortController;
pub use error::{AbortError, TimeoutError};
pub use listener::AbortListener;
pub(crate) use listener::AbortListeners;
pub use signal::AbortSignal;
// For what is to end with a signal.
pub(crate) use self::core::AlgorithmId;

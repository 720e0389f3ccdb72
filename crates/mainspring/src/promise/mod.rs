//! Promises.

mod panicked;
mod rejection;

pub use panicked::Panicked;
pub use rejection::{LocalRejection, Rejection};

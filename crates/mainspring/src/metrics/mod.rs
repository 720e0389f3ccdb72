//! What a loop does, in numbers.
//!
//! The loop's thread counts and measures; now and then, and always before it blocks, it publishes what it has
//! found, so that other threads read it without disturbing it.

mod depth;
mod figures;
mod observer;
mod published;
mod quantiles;
mod report;
mod sampler;
mod shown;
mod snapshot;
#[cfg(feature = "spans")]
mod spans;
mod trace;
mod tracked;
mod window;
mod words;

pub(crate) use observer::Observer;
#[cfg(all(test, loom))]
pub(crate) use published::Published;
pub(crate) use shown::Shown;
pub use snapshot::{Latency, Metrics, PhaseMetrics, QueueMetrics};

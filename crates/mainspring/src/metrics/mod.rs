//! What a loop does, in numbers.
//!
//! The loop's thread counts and measures; now and then, and always before it blocks, it publishes what it has
//! found, so that other threads read it without disturbing it.

mod snapshot;

pub use snapshot::{Latency, Metrics, PhaseMetrics, QueueMetrics};

//! What a loop does, in numbers.
//!
//! The loop's thread counts and measures; now and then, and always before it blocks, it publishes what it has
//! found, so that other threads read it without disturbing it.
//!
//! | module | what it is about |
//! |---|---|
//! | `observer` | who is told of what a loop does; `observer::tick`: how the time of a tick is divided |
//! | `figures` | what is counted and measured |
//! | `depth`, `quantiles`, `window` | how many wait, how long things take, how many there are per second |
//! | `arrivals` | how many entries of other threads have their time noted |
//! | `sampler` | which callbacks are measured, if they are many |
//! | `tracked` | callbacks that know where they come from |
//! | `report`, `words` | the figures of a moment, and how they become words |
//! | `published` | words that one thread writes and any thread reads |
//! | `shown` | what other threads see of a loop, and what they note for it |
//! | `snapshot` | [`Metrics`]: the figures as they are read |
//! | `trace`, `spans` | who writes down what the loop does: the `Tracer`, spans of `tracing` |
//!
//! # A new figure
//!
//! It needs a line or two in each of these:
//!
//! 1. `Counts` in `figures`, and the list `words!` below it; what counts it, in `observer`, or in `Figures::gather` if
//!    others do. What another thread counts is in `shown` instead, and is added by `Shown::complete`.
//! 2. [`Metrics`] in `snapshot`, and `Report::metrics`, which fills it in.
//! 3. `mainspring-inspect`: the model and its `From` in `model.rs`; its name for Prometheus in `figures.rs`; the page,
//!    `page/view.js`, if it is shown there.
//! 4. `top` of the command, `top/render/sections.rs`; `mainspring.metrics()` of scripts, `ops/system.rs` of
//!    `mainspring-js`.
//! 5. `docs/api`, by `tools/api`.

mod arrivals;
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

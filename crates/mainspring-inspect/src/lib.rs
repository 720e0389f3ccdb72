//! Shows what event loops do: a live page, JSON, and OpenMetrics.
//!
//! ```no_run
//! use mainspring::EventLoop;
//! use mainspring_inspect::Inspector;
//! use std::time::Duration;
//!
//! let event_loop = EventLoop::builder().stall_threshold(Duration::from_millis(50)).build()?;
//! let inspector = Inspector::serve("127.0.0.1:9123")?;
//! inspector.watch("main", &event_loop.handle())?;
//! println!("{}", inspector.url()); // http://127.0.0.1:9123/
//! event_loop.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | path | what is there |
//! |---|---|
//! | `/` | a page that shows the loops, and asks for news once a second |
//! | `/state.json` | what the page shows, as [`model::State`] |
//! | `/metrics` | the figures for Prometheus, as OpenMetrics text |
//!
//! The figures alone, for a server or a registry that a program has already: [`openmetrics`] and [`Figures`].
//!
//! # What it does not do
//!
//! It changes nothing: there is no request that does anything to a loop. It listens only if it is asked to, and
//! only to programs of the same machine, unless [that is allowed](Builder::allow_remote). There is no password: who
//! can connect can read the names, the figures and the places in the source.
//!
//! # What it costs
//!
//! The pages are served by a thread and a loop of their own. Figures and stalls are read without the watched loop,
//! which does not notice. Only what keeps it alive has to be asked from itself, by one short task: about once a
//! second, and only while somebody looks.
//!
//! # Other crates in the interface
//!
//! `prometheus-client` 0.24, whose trait `Collector` is what [`Figures`] are; and `serde` 1, by whose traits what is in
//! [`model`] is written and read. And `mainspring`. No other crate's types are a part of it, so a new version of another
//! dependency is none of this crate.

#[cfg(unix)]
mod answer;
#[cfg(unix)]
mod error;
mod figures;
#[cfg(unix)]
mod history;
#[cfg(unix)]
mod inspector;
pub mod model;
#[cfg(unix)]
mod page;
#[cfg(unix)]
mod question;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod watched;

#[cfg(unix)]
pub use error::Error;
pub use figures::{CONTENT_TYPE, Figures, openmetrics};
#[cfg(unix)]
pub use inspector::{Builder, Inspector};

/// The pages of the book.
#[cfg(all(doctest, unix))]
mod book {
    #[doc = include_str!("../docs/inside.md")]
    mod inside {}
    #[doc = include_str!("../docs/misbehaves.md")]
    mod misbehaves {}
}

//! The JavaScript side of the [`mainspring`] event loop, for any engine.
//!
//! A script expects more of its host than ECMAScript says: timers, `process`, `console`, events, modules, and
//! an order in which callbacks run. This crate has all of that, twice halved: what is JavaScript stands in
//! [`BUILTINS`] and runs on any engine; what is Rust is [`Layer`], which calls the engine by the small trait
//! [`Engine`], and [`Host`] with the operations that the JavaScript half calls.
//!
//! `mainspring-quickjs` binds it to QuickJS. To bring another engine, implement [`Engine`], hand
//! the script a `host` object with the functions that are listed at [`Engine`], evaluate
//! `internal/loader`, which gives `require`, and then require `internal/bootstrap`.
//!
//! ```
//! # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
//! use mainspring::EventLoop;
//! use mainspring_js::Options;
//! use std::rc::Rc;
//!
//! let event_loop = EventLoop::new()?;
//! // An engine whose functions are Rust's; it stands at `Engine`.
//! let layer = closures::join(&event_loop, Options::new());
//! layer.start_timer(Rc::new(|| println!("hello")), 10.0, true)?;
//! event_loop.run_until_idle()?;
//! # Ok::<(), mainspring::Error>(())
//! ```

mod builtins;
mod engine;
mod host;
mod layer;
pub mod ops;
mod options;
pub mod resolve;
pub mod scan;
mod stdio;
mod value;

pub use builtins::{BUILTINS, Builtin, builtin};
pub use engine::{Engine, Entry, JobRun, Origin, Thrown};
pub use host::{Deadline, Host, Limit, Stats, Uncaught};
pub use layer::Layer;
pub use options::{Global, Options};
pub use stdio::Output;
pub use value::{Arg, Callback, OpError, Value};

/// The page of the book.
#[cfg(doctest)]
#[doc = include_str!("../docs/engine.md")]
mod book {}

//! The JavaScript side of the [`mainspring`] event loop, for any engine.
//!
//! A script expects more of its host than ECMAScript says: timers, `process`, `console`, events, modules, and
//! an order in which callbacks run. This crate has all of that, twice halved: what is JavaScript stands in
//! [`BUILTINS`] and runs on any engine; what is Rust is [`Layer`], which calls the engine by the small trait
//! [`Engine`], and [`Host`] with the operations that the JavaScript half calls.
//!
//! `mainspring-quickjs` binds it to QuickJS. To bring another engine, implement [`Engine`], hand
//! the script a `host` object with the functions that are listed at [`Engine`], and evaluate
//! `internal/bootstrap`.

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

//! QuickJS on the [`mainspring`] event loop.
//!
//! ```
//! use mainspring::EventLoop;
//! use mainspring_quickjs::{Options, Runtime};
//!
//! let event_loop = EventLoop::builder().microtask_budget(None).build()?;
//! let script = Runtime::new(event_loop.cx(), Options::new())?;
//! script.eval("setTimeout(() => console.log('hello'), 10)", "hello.js")?;
//! let code = script.run(&event_loop)?;
//! assert_eq!(code, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`Runtime`] makes an engine of its own, with [limits](Limits) if you like.
//! * [`install`] takes an engine that you have.
//! * [`Options`] says which globals a script finds, where its output goes, how long a callback may run, and
//!   who is told of what it does not handle.
//!
//! The engine's job queue is a part of the loop's microtask queue: there is a checkpoint after every callback,
//! and jobs and microtasks run in the one order in which they were queued. ECMAScript demands that it runs to its
//! end, so build the loop [without a budget](mainspring::Builder::microtask_budget).
//!
//! Nothing is global: several engines on several loops live in one process, or several on one loop.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `mimalloc` (on by default) | that allocator, for engines that [`Runtime`] makes: a third less time for each job of a promise. It is written in C, as QuickJS is |
//!
//! Without it they take their memory from the system's allocator. It is counted and [limited](Limits) all the same.
//!
//! # Other crates in the interface
//!
//! [`rquickjs`] 0.14: contexts, functions and errors of the engine are its types, so it is re-exported. And `mainspring-js`,
//! whose types that are needed are re-exported, too, and `mainspring`.

mod compile;
mod convert;
mod details;
mod engine;
mod error;
mod interrupt;
mod memory;
mod module_record;
mod modules;
mod natives;
mod promises;
mod rejections;
mod runtime;

pub use error::Error;
pub use interrupt::Interrupt;
pub use mainspring_js::{Deadline, Global, Host, Limit, Options, Origin, Output, Stats, Uncaught};
pub use natives::engine_version;
pub use rquickjs;
pub use runtime::{Limits, Runtime, install};

/// The page of the book.
#[cfg(doctest)]
#[doc = include_str!("../docs/quickjs.md")]
mod book {}

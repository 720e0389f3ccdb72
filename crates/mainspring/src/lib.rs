//! An event loop with the exact, documented semantics of JavaScript's, in one thread that you own.
//!
//! ```
//! use mainspring::EventLoop;
//!
//! fn main() -> Result<(), mainspring::Error> {
//!     let event_loop = EventLoop::new()?;
//!     let handle = event_loop.handle();
//!     let worker = std::thread::spawn(move || {
//!         handle.submit(|cx| {
//!             println!("task");
//!             cx.queue_microtask(|cx| {
//!                 println!("microtask");
//!                 cx.shutdown();
//!             });
//!         })
//!         .unwrap();
//!     });
//!     event_loop.run()?;
//!     worker.join().unwrap();
//!     Ok(())
//! }
//! ```
//!
//! # The parts
//!
//! * [`EventLoop`] stays on the thread that made it, and is driven there: by [`run`](EventLoop::run),
//!   or tick by tick by [`turn`](EventLoop::turn), inside a loop of your own.
//! * [`Handle`] is for other threads: it can be cloned and sent, and never waits for the loop.
//! * [`Cx`] is given to every callback, so that it can queue more. What is queued through it need not
//!   be `Send`.
//! * [`Builder`] sets budgets, marks, policies and hooks.
//! * [`Promise`] is a value that is there later, for all threads; [`LocalPromise`] one for the loop's own.
//!   [`promisify`](Handle::promisify) makes one of a function that blocks.
//! * [`Watch`] says what to do when a descriptor is ready, for [`Cx::watch`]; [`Handle::register_fd`] is
//!   the strict form, for any thread.
//! * [`Cx::spawn_local`] runs a future, [`EventLoop::block_on`] drives the loop until one is done; sockets and
//!   child processes for them are in [`net`] and [`process`], anything else with a descriptor is an [`AsyncFd`].
//! * [`LoopGroup`] is several loops, one for each core.
//! * [`Guest`] is a loop that another main loop drives, by waiting for its descriptor.
//! * [`Performance`] is JavaScript's `performance`: marks, measures, and observers of them.
//! * [`AbortSignal`] says that something is to end, on any thread; [`AbortController`] makes it say so.
//! * [`EventTarget`] calls listeners for an [`Event`], as in the DOM.
//! * [`VirtualClock`] lets a test decide how time passes.
//!
//! # What you can rely on
//!
//! 1. **Order.** Each tick runs its phases in the order documented at [`EventLoop`]. Each queue is
//!    first-in, first-out for each thread that puts something in. Between threads no order is promised.
//! 2. **Time.** A timer never fires early, not by a nanosecond. Timers fire in the order of their deadlines,
//!    equal ones in the order in which they were set; one that is set by a timer's callback waits for the
//!    next tick. What is cleared does not fire, even if it was due, and whoever clears it is told the
//!    truth, on any thread.
//! 3. **Checkpoints.** After each callback the `next_tick` queue and the microtasks are run, in turn,
//!    until both are empty; a budget, which can be switched off, keeps them from starving the rest.
//! 4. **Promises.** Handlers run as microtasks, never at once, in the order of attachment and otherwise in the
//!    order of JavaScript's. Each runs once, or its promise is rejected because the loop has ended; no promise
//!    is left pending by that. A rejection that nobody handles is reported, once.
//! 5. **Descriptors.** An event reaches the registration that it is for, or nobody: not the next owner of a
//!    number, not what was removed a moment ago. Any thread registers and removes, at once, also while the
//!    loop is blocked. One that is always ready keeps nothing else from running.
//! 6. **Nothing is lost.** A task that was accepted runs, unless the loop is closed, dropped, shut down
//!    before it was ever driven, or its shutdown runs out of time; then it is dropped, and counted. A task
//!    that was refused comes back in the error.
//! 7. **No wake-up is missed, and none is wasted.** A loop with nothing to do makes no system call. A
//!    submit to a loop that is awake makes none either; to one that sleeps, one, however many threads
//!    submit.
//! 8. **Panics stay where they are.** A callback that panics is reported, and the loop goes on with the
//!    next one; or the panic leaves the call that drives the loop, if you [say so](PanicPolicy).
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `metrics` (on by default) | `Builder::metrics`, stalls, places, and the `Tracer` |
//! | `spans` | spans of `tracing` for ticks and phases, at level `TRACE`, of loops with `Builder::metrics` |
//! | `signals` | `Handle::shutdown_on_signals`, the source `Signals`, and `AsyncSignals` as a future, on Unix |
//! | `futures-io` | the traits `AsyncRead` and `AsyncWrite` of that crate for streams |
//! | `hyper` | what `hyper` needs of a runtime, in `mainspring::hyper` |
//! | `sim` | deterministic simulation of programs with loops and threads, for tests, in `mainspring::sim`, on Linux |
//!
//! Each combination builds; `spans` brings `metrics` along, and `hyper` brings `futures-io`. Without any, the loop
//! itself is the same.
//!
//! # Other crates in the interface
//!
//! The traits of `futures-io` 0.3 and of `hyper` 1, each with its feature. No other crate's types are a part of it,
//! so a new version of another dependency is none of this crate.
//!
//! # Rust version
//!
//! Rust 1.92 or newer. If a version of this crate needs a newer one than the last did, it is a new minor version.
//!
//! # What it is not
//!
//! It is not an executor that moves work between threads. One loop is one thread; several loops can
//! live in one process, each on its own.

#![deny(unsafe_op_in_unsafe_fn)]
#![cfg_attr(loom, allow(dead_code))]

mod abort;
mod alive_list;
mod builder;
mod calls;
mod checkpoint;
mod chunk;
mod clock;
mod current;
mod cx;
mod deadline;
#[cfg(test)]
mod defect;
mod end;
mod error;
mod event;
mod event_loop;
mod fault;
mod future;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(not(loom))]
mod group;
#[cfg(all(target_os = "linux", not(loom)))]
mod guest;
mod handle;
mod handover;
mod hooks;
#[cfg(all(feature = "hyper", not(loom)))]
pub mod hyper;
mod immediate;
mod inbox;
mod interest;
mod io;
mod jobs;
mod lane;
mod local;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(all(test, loom))]
mod models;
#[cfg(not(loom))]
pub mod net;
mod observe;
mod observed;
mod once_slice;
mod owner;
mod performance;
mod phase;
mod place;
mod poll;
mod pool;
mod probe;
#[cfg(all(target_os = "linux", not(loom)))]
pub mod process;
mod promise;
#[cfg(all(test, not(loom)))]
mod races;
mod ring;
mod run_each;
mod safety;
mod shared;
mod shutdown;
#[cfg(all(unix, feature = "signals", not(loom)))]
mod signals;
#[cfg(all(feature = "sim", target_os = "linux", not(any(loom, mainspring_portable))))]
pub mod sim;
mod simulated;
mod sleep;
mod spin;
#[cfg(feature = "metrics")]
mod stall;
#[cfg(feature = "metrics")]
mod stamp;
mod state;
mod sync;
mod sys;
mod task;
#[cfg(all(test, not(loom), target_os = "linux"))]
mod testing;
mod tick;
mod time;
mod timer;
#[cfg(all(feature = "metrics", test, loom))]
#[path = "tracer/ring.rs"]
mod trace_ring;
#[cfg(all(feature = "metrics", not(loom)))]
mod tracer;
mod virtual_clock;
mod why_alive;
mod workers;

pub use abort::{AbortController, AbortError, AbortListener, AbortSignal, Aborted, TimeoutError};
pub use builder::{Builder, FastPathMode};
pub use current::current;
pub use cx::Cx;
pub use deadline::Deadline;
pub use error::{Error, Refusal, SubmitError};
pub use event::{
    CustomEvent, DispatchError, Event, EventPhase, EventTarget, Listener, ListenerOptions,
};
pub use event_loop::{EventLoop, Turn};
pub use fault::{PanicPolicy, UncaughtPanic};
pub use future::{AbortHandle, AbortOnDrop, JoinError, JoinHandle, YieldNow};
#[cfg(not(loom))]
pub use group::{LoopGroup, LoopGroupBuilder};
#[cfg(all(target_os = "linux", not(loom)))]
pub use guest::{Guest, ReadyNotifier};
pub use handle::{Handle, KeepAlive};
pub use hooks::{Diagnostic, Overload};
pub use immediate::ImmediateId;
pub use interest::Interest;
#[cfg(not(loom))]
pub use io::AsyncFd;
pub use io::{Readiness, RegisterError, Watch, Watcher};
pub use jobs::{Job, JobQueue, JobQueueId};
#[cfg(feature = "metrics")]
pub use metrics::{Latency, Metrics, PhaseMetrics, QueueMetrics};
pub use performance::{
    EntryType, MarkOptions, MeasureOptions, MeasurePoint, ObserveOptions, Performance,
    PerformanceEntry, PerformanceError, PerformanceObserver, PerformanceObserverEntryList,
};
pub use phase::{Phase, Queue};
#[cfg(all(target_os = "linux", not(loom)))]
pub use process::exit::ChildExit;
pub use promise::{
    AggregateError, LocalPromise, LocalRejection, LocalResolver, Panicked, Promise, PromiseId,
    PromiseState, Rejection, Resolver, UnhandledRejection, WaitError,
};
pub use safety::{Audit, Fault, FaultKind, Profile, ShutdownStage, StageEvent, Transition, audit};
pub use shutdown::Shutdown;
#[cfg(all(unix, feature = "signals", not(loom)))]
pub use signals::{AsyncSignals, SignalGuard, Signals};
#[cfg(feature = "metrics")]
pub use stall::Stall;
pub use state::LoopState;
pub use time::{Interval, Sleep, Timeout};
pub use timer::{TimerId, TimerNesting};
#[cfg(all(feature = "metrics", not(loom)))]
pub use tracer::Tracer;
pub use virtual_clock::VirtualClock;
pub use why_alive::{Cause, Reason, WhyAlive};

/// The pages of the book that need no other crate.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../docs/async.md")]
    mod asynchronous {}
    #[doc = include_str!("../docs/safety.md")]
    mod safety {}
    #[doc = include_str!("../docs/virtual-time.md")]
    mod virtual_time {}
    #[doc = include_str!("../docs/from-libuv.md")]
    mod from_libuv {}
    #[cfg(unix)]
    #[doc = include_str!("../docs/semantics.md")]
    mod semantics {}
    #[cfg(all(feature = "sim", target_os = "linux", not(mainspring_portable)))]
    #[doc = include_str!("../docs/testing.md")]
    mod simulation {}
}

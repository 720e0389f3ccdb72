//! Models: small programs around the real code of this crate, of which loom runs every
//! interleaving, and every value that a load may return under the memory model.
//!
//! They are compiled with `--cfg loom` only. `models/run` at the root of the project runs them all;
//! `models/README.md` says what was explored, and which defects they were seen to find.
//!
//! # Conventions
//!
//! * A loop that parks does not join: a late signal may reach its thread at any time, and loom's `join`
//!   does not expect one. Either the loop runs on a thread of its own, and the model's main thread
//!   does nothing but join, or nobody joins: loom waits for all threads anyway.
//! * What all threads share is kept by the main thread until it has joined them: the reference
//!   counts are those of the standard library, whose ordering loom does not see.
//! * What a model counts, it counts in atomics of the standard library: they are no part of the
//!   program that is checked, and add nothing to explore.

mod abort;
mod future;
mod inbox;
mod io;
mod memory;
#[cfg(feature = "metrics")]
mod observe;
mod once_slice;
mod park;
mod pool;
mod promise;
mod promisify;
mod ring;
mod sleep;
mod timers;
mod whole;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// How much of the interleavings is explored.
#[derive(Clone, Copy)]
enum Bound {
    /// All of them.
    None,
    /// Those in which a thread that could go on is interrupted at most so often. Every switch at a
    /// point where a thread blocks or ends comes on top.
    Preemptions(usize),
}

/// Steps of a model that must be tried in every order.
///
/// Of several accesses to one atomic, loom remembers the last only. Where a thread loads and then
/// stores, its own load hides those of the others, and loom does not try to let the store come
/// before them. Read-modify-writes hide nothing. As they are relaxed, they do not order anything
/// either.
struct Pace(crate::sync::AtomicUsize);

impl Pace {
    fn new() -> Arc<Self> {
        Arc::new(Self(crate::sync::AtomicUsize::new(0)))
    }

    fn step(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Explores `model`, and says how many executions that took.
fn explore(name: &str, bound: Bound, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 10_000;
    builder.preemption_bound = match bound {
        Bound::None => None,
        Bound::Preemptions(n) => Some(n),
    };
    let executions = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&executions);
    let start = Instant::now();
    let longest = builder.max_duration;
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let executions = executions.load(Ordering::Relaxed);
    let bound = match bound {
        // LOOM_MAX_DURATION was set.
        _ if longest.is_some_and(|longest| start.elapsed() >= longest) => "cut short".to_owned(),
        Bound::None => "exhaustive".to_owned(),
        Bound::Preemptions(n) => format!("up to {n} preemptions"),
    };
    println!("model | {name} | {bound} | {executions} | {:.1} s", start.elapsed().as_secs_f64());
}

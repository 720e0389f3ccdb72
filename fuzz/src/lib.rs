//! Checks of mainspring that take their programs from bytes. Each module has a `check`, which a fuzzer calls with what
//! it found, and `tests/smoke.rs` with what was found before and with pseudo-random bytes.
//!
//! | module | what is driven | what it is compared with |
//! |---|---|---|
//! | [`queues`] | the ring, the queue in chunks, the inbox | a `VecDeque` |
//! | [`timers`] | the timer store, and a loop on virtual time | a sorted list |
//! | [`watchers`] | descriptors that come and go | who is registered, and what is ready |
//! | [`promises`] | graphs of promises of both kinds | ECMAScript's steps |
//! | [`measures`] | `performance.measure`, in Rust and in scripts | the steps of User Timing |
//! | [`scripts`] | scripts of a small grammar | themselves, run again |

#[cfg(not(fuzzing))]
compile_error!("build it in its own directory, or by `fuzz/run`: it needs `--cfg fuzzing`");

mod helper;
pub mod measures;
pub mod promises;
pub mod queues;
pub mod scripts;
mod source;
pub mod timers;
pub mod watchers;

/// What a target does with an input: it panics if the library and the model disagree.
pub type Check = fn(&[u8]);

/// The name of each target, with its check.
pub const TARGETS: &[(&str, Check)] = &[
    ("queues", queues::check),
    ("timers", timers::check),
    ("watchers", watchers::check),
    ("promises", promises::check),
    ("measures", measures::check),
    ("scripts", scripts::check),
];

//! Checks of mainspring that take their programs from bytes. Each module has a `check`, which a fuzzer calls with what
//! it found, and `tests/smoke.rs` with what was found before and with pseudo-random bytes.
//!
//! | module | what is driven | what it is compared with |
//! |---|---|---|
//! | [`queues`] | the ring, the queue in chunks, the inbox | a `VecDeque` |
//! | [`timers`] | the timer store, and a loop on virtual time | a sorted list |

#[cfg(not(fuzzing))]
compile_error!("build it in its own directory, or by `fuzz/run`: it needs `--cfg fuzzing`");

mod helper;
pub mod queues;
mod source;
pub mod timers;

/// What a target does with an input: it panics if the library and the model disagree.
pub type Check = fn(&[u8]);

/// The name of each target, with its check.
pub const TARGETS: &[(&str, Check)] = &[("queues", queues::check), ("timers", timers::check)];

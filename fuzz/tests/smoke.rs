//! Every target over its seeds, and over pseudo-random bytes that are the same every time. Without an instrumented build
//! this takes seconds; what was found once is found again.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use mainspring_fuzz::TARGETS;

/// Enough to go through most of what a program can do.
const LONGEST: u64 = 600;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = self.next() % LONGEST;
        (0..len).map(|_| (self.next() >> 32) as u8).collect()
    }
}

/// One target at a time: some count what the process has open.
static TURN: Mutex<()> = Mutex::new(());

fn run(name: &str, inputs: u64) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, check) = TARGETS.iter().find(|(target, _)| *target == name).expect("a target");
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let mut replayed = 0;
    for entry in fs::read_dir(seeds).expect("the target has seeds") {
        let path = entry.unwrap().path();
        eprintln!("{}", path.display());
        check(&fs::read(&path).unwrap());
        replayed += 1;
    }
    assert!(replayed > 0);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for number in 0..inputs {
        let bytes = random.bytes();
        // Without a trace for each: there is one if the check fails.
        let failed = std::panic::catch_unwind(|| check(&bytes)).is_err();
        assert!(!failed, "{name}: input {number} of {inputs} fails: {bytes:?}");
    }
}

#[test]
fn queues_hold_what_was_put_in() {
    run("queues", 4_000);
}

#[test]
fn timers_fire_in_the_order_of_a_sorted_list() {
    run("timers", 2_000);
}

#[test]
fn measures_are_what_user_timing_says() {
    run("measures", 2_000);
}

#[test]
fn promises_react_in_the_order_of_ecmascript() {
    run("promises", 2_000);
}

#[test]
fn events_reach_whom_they_are_for() {
    run("watchers", 500);
}

#[test]
fn scripts_end_and_write_the_same_again() {
    run("scripts", 60);
}

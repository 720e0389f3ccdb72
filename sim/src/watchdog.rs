//! Ends the process if a program comes to no point at which the simulation could end it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Much longer than any program takes.
const PATIENCE: Duration = Duration::from_secs(60);

static SEED: AtomicU64 = AtomicU64::new(0);
static PROGRAMS: AtomicU64 = AtomicU64::new(0);

/// A program begins.
pub(crate) fn begin(seed: u64) {
    SEED.store(seed, Ordering::Relaxed);
    PROGRAMS.fetch_add(1, Ordering::Relaxed);
}

/// Looks from now on whether programs come to their ends.
pub(crate) fn start() {
    thread::spawn(|| {
        loop {
            let before = PROGRAMS.load(Ordering::Relaxed);
            thread::sleep(PATIENCE);
            let seed = SEED.load(Ordering::Relaxed);
            if before == PROGRAMS.load(Ordering::Relaxed) {
                println!("seed {seed}, after {before} programs: it spins, and never gives way");
                std::process::abort();
            }
        }
    });
}

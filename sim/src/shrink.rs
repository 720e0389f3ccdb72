//! Makes a program that fails smaller.

use crate::execute::{Violation, run};
use crate::program::Program;

/// How many seeds are tried with each smaller program: what fails in one order of events may need another one
/// when a step is missing.
const SEEDS: u64 = 30;

/// A smaller program that fails, if there is one, with the seed and what is wrong then.
pub(crate) fn shrink(program: &Program, seed: u64) -> (Program, u64, Violation) {
    let mut best = program.clone();
    let mut seed = seed;
    let mut violation = run(program, seed).err().unwrap_or_default();
    'smaller: loop {
        for candidate in best.smaller() {
            let seeds = std::iter::once(seed).chain(0..SEEDS);
            let failed =
                seeds.into_iter().find_map(|seed| Some((seed, run(&candidate, seed).err()?)));
            if let Some((with, what)) = failed {
                (best, seed, violation) = (candidate, with, what);
                continue 'smaller;
            }
        }
        return (best, seed, violation);
    }
}

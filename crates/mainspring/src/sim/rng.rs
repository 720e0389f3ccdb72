//! The random numbers of a simulation: all of them from one seed.

use std::cell::Cell;

/// SplitMix64: small, fast, and good enough to choose by.
#[derive(Debug)]
pub(crate) struct Rng(Cell<u64>);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    pub(crate) fn next(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; zero if there is none.
    pub(crate) fn below(&self, end: u64) -> u64 {
        // The bias is of no importance here.
        self.next() % end.max(1)
    }

    /// True in so many of a thousand cases. Takes no number if the answer is known.
    pub(crate) fn chance(&self, permille: u16) -> bool {
        permille != 0 && self.below(1000) < u64::from(permille)
    }
}

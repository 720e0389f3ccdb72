//! How many of the entries of other threads have the time noted at which they were queued.

use std::cell::Cell;

use super::sampler::{MAX_STRIDE, PERIOD, SURPRISE, stride};

/// How fast other threads hand something over, as the loop's thread sees it.
pub(super) struct Arrivals {
    /// When, and after how many entries, the rate was looked at.
    looked_at: Cell<(i64, u64)>,
    /// How many times were noted since.
    stamps: Cell<u32>,
    /// One of how many entries has its time noted.
    stride: Cell<u32>,
}

impl Arrivals {
    pub(super) fn new(now: i64) -> Self {
        Self { looked_at: Cell::new((now, 0)), stamps: Cell::new(0), stride: Cell::new(1) }
    }

    /// Whether a time that was noted is taken in, of many. If there are many at once, others are told to note fewer, by
    /// `note_one_of`, and some are not.
    pub(super) fn takes_in(&self, note_one_of: impl FnOnce(u32)) -> bool {
        let taken = self.stamps.get() + 1;
        self.stamps.set(taken);
        if taken.is_multiple_of(SURPRISE) {
            self.stride.set((2 * self.stride.get()).min(MAX_STRIDE as u32));
            note_one_of(self.stride.get());
        }
        taken <= 4 * SURPRISE
    }

    /// Whether it is a while since the rate was looked at.
    pub(super) fn is_due(&self, now: i64) -> bool {
        now - self.looked_at.get().0 >= PERIOD
    }

    /// Bounds the number of times that others note, after so many entries. They are told by `note_one_of`.
    pub(super) fn adapt(&self, now: i64, handed_over: u64, note_one_of: impl FnOnce(u32)) {
        let (since, before) = self.looked_at.replace((now, handed_over));
        self.stamps.set(0);
        let arrived = handed_over.saturating_sub(before);
        self.stride.set(stride(self.stride.get(), arrived, now - since).next_power_of_two());
        note_one_of(self.stride.get());
    }
}

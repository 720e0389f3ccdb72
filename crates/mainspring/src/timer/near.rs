//! What is due soon: an exact heap, and what was added since it was last looked at.
//!
//! A timer that is removed stays in here as a key without meaning, until its turn comes or there are too
//! many of them. The sequence number tells: no two insertions have the same.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::timer::slots::Slots;

/// The capacity that is kept.
const KEEP: usize = 1024;

/// Keys without meaning that are put up with.
const DEAD: usize = 64;

/// The place of a timer in the order of firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) deadline: i64,
    pub(crate) sequence: u64,
    pub(crate) index: u32,
}

impl Key {
    /// Whether the timer is still there, and was not inserted anew since.
    #[inline]
    pub(crate) fn is_live(&self, slots: &Slots) -> bool {
        slots.find(self.index).is_some_and(|slot| slot.sequence.get() == self.sequence)
    }
}

/// See the [module documentation](self).
pub(crate) struct Near {
    heap: BinaryHeap<Reverse<Key>>,
    /// Since the present phase began. They have to wait for the next one.
    fresh: Vec<Key>,
    dead: usize,
}

impl Near {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), fresh: Vec::new(), dead: 0 }
    }

    /// Adds a timer for the next phase.
    #[inline]
    pub(crate) fn insert(&mut self, key: Key) {
        self.fresh.push(key);
    }

    /// Adds one that was here before the phase began.
    #[inline]
    pub(crate) fn ripen(&mut self, key: Key) {
        self.heap.push(Reverse(key));
    }

    /// One of the timers is not here any more.
    #[inline]
    pub(crate) fn forget_one(&mut self, slots: &Slots) {
        self.dead += 1;
        if self.dead > DEAD && self.dead > (self.heap.len() + self.fresh.len()) / 2 {
            self.sweep(slots);
        }
    }

    #[cold]
    fn sweep(&mut self, slots: &Slots) {
        self.heap.retain(|Reverse(key)| key.is_live(slots));
        self.fresh.retain(|key| key.is_live(slots));
        self.dead = 0;
        self.shrink();
    }

    fn shrink(&mut self) {
        if self.heap.capacity() > KEEP.max(4 * self.heap.len()) {
            self.heap.shrink_to(KEEP.max(2 * self.heap.len()));
        }
        if self.fresh.capacity() > KEEP.max(4 * self.fresh.len()) {
            self.fresh.shrink_to(KEEP.max(2 * self.fresh.len()));
        }
    }

    /// A phase begins: what is here may run in it.
    #[inline]
    pub(crate) fn begin(&mut self) {
        if !self.fresh.is_empty() {
            self.heap.extend(self.fresh.drain(..).map(Reverse));
            self.shrink();
        }
    }

    /// Takes out the first timer that is due.
    #[inline]
    pub(crate) fn pop_due(&mut self, slots: &Slots, now: i64) -> Option<Key> {
        loop {
            let Reverse(key) = *self.heap.peek()?;
            if key.deadline > now {
                return None;
            }
            self.heap.pop();
            if self.heap.is_empty() {
                self.shrink();
            }
            if key.is_live(slots) {
                return Some(key);
            }
            self.dead -= 1;
        }
    }

    /// The earliest deadline.
    pub(crate) fn next(&mut self, slots: &Slots) -> Option<i64> {
        while let Some(Reverse(key)) = self.heap.peek()
            && !key.is_live(slots)
        {
            self.heap.pop();
            self.dead -= 1;
        }
        let fresh = self.fresh.iter().filter(|key| key.is_live(slots)).min();
        let ripe = self.heap.peek().map(|Reverse(key)| key);
        fresh.into_iter().chain(ripe).map(|key| key.deadline).min()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }
}

//! What is due soon, in exact order.
//!
//! Timers that come from the wheel come in lots, one for each granule, each later than the one before: they
//! are sorted lot by lot and form one queue. Those that were near when they were set are in a heap beside
//! it. What was added since the present phase began waits apart for the next one.
//!
//! A timer that is removed stays in here as a key without meaning, until its turn comes or there are too
//! many of them. The sequence number tells: no two insertions have the same.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use crate::timer::slots::Slots;

/// The capacity that is kept.
const KEEP: usize = 4096;

/// Keys without meaning that are put up with.
const DEAD: usize = 64;

/// The place of a timer in the order of firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) deadline: i64,
    pub(crate) sequence: u64,
    pub(crate) index: u32,
}

impl Ord for Key {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Key {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    /// What sorting asks: by two instructions, and without a branch.
    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.order() < other.order()
    }
}

impl Key {
    /// Deadline and insertion as one number; no two keys have the same.
    #[inline]
    fn order(&self) -> i128 {
        i128::from(self.deadline) << 64 | i128::from(self.sequence)
    }

    /// Whether the timer is still there, and was not inserted anew since.
    #[inline]
    pub(crate) fn is_live(&self, slots: &Slots) -> bool {
        slots.find(self.index).is_some_and(|slot| slot.sequence.get() == self.sequence)
    }
}

/// See the [module documentation](self).
pub(crate) struct Near {
    /// Sorted, but for what was added since `sort`.
    queue: VecDeque<Key>,
    heap: BinaryHeap<Reverse<Key>>,
    /// Since the present phase began. They have to wait for the next one.
    fresh: BinaryHeap<Reverse<Key>>,
    dead: usize,
}

impl Near {
    pub(crate) const fn new() -> Self {
        Self { queue: VecDeque::new(), heap: BinaryHeap::new(), fresh: BinaryHeap::new(), dead: 0 }
    }

    /// Adds a timer for the next phase.
    #[inline]
    pub(crate) fn insert(&mut self, key: Key) {
        self.fresh.push(Reverse(key));
    }

    /// How many are in the queue.
    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Whether nothing is here, dead or alive.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.heap.is_empty() && self.fresh.is_empty()
    }

    /// Adds one from the wheel, whose granule is later than that of all before the last call of `sort`.
    #[inline]
    pub(crate) fn ripen(&mut self, key: Key) {
        self.queue.push_back(key);
    }

    /// Sorts what was added to the first `sorted` of the queue.
    #[inline]
    pub(crate) fn sort(&mut self, sorted: usize) {
        if self.queue.len() > sorted {
            // What is left of earlier lots is little.
            self.queue.make_contiguous()[sorted..].sort_unstable();
        }
    }

    /// One of the timers is not here any more.
    #[inline]
    pub(crate) fn forget_one(&mut self, slots: &Slots) {
        self.dead += 1;
        let len = self.queue.len() + self.heap.len() + self.fresh.len();
        if self.dead > DEAD && self.dead > len / 2 {
            self.sweep(slots);
        }
    }

    #[cold]
    fn sweep(&mut self, slots: &Slots) {
        self.queue.retain(|key| key.is_live(slots));
        self.heap.retain(|Reverse(key)| key.is_live(slots));
        self.fresh.retain(|Reverse(key)| key.is_live(slots));
        self.dead = 0;
        self.shrink();
    }

    fn shrink(&mut self) {
        if self.queue.capacity() > KEEP.max(4 * self.queue.len()) {
            self.queue.shrink_to(KEEP.max(2 * self.queue.len()));
        }
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
            self.heap.append(&mut self.fresh);
        }
    }

    /// The first one of what may run in this phase, dead or alive, and whether it is in the heap.
    #[inline]
    fn peek(&self) -> Option<(Key, bool)> {
        let queued = self.queue.front();
        match (queued, self.heap.peek()) {
            (Some(queued), Some(Reverse(key))) if key < queued => Some((*key, true)),
            (Some(queued), _) => Some((*queued, false)),
            (None, Some(Reverse(key))) => Some((*key, true)),
            (None, None) => None,
        }
    }

    #[inline]
    fn pop(&mut self, from_heap: bool) {
        if from_heap {
            self.heap.pop();
        } else {
            self.queue.pop_front();
        }
        if self.heap.is_empty() && self.queue.is_empty() {
            self.shrink();
        }
    }

    /// Takes out the first timer that is due.
    #[inline(always)]
    pub(crate) fn pop_due(&mut self, slots: &Slots, now: i64) -> Option<Key> {
        loop {
            let (key, from_heap) = self.peek()?;
            if key.deadline > now {
                return None;
            }
            self.pop(from_heap);
            if key.is_live(slots) {
                return Some(key);
            }
            self.dead -= 1;
        }
    }

    /// The earliest deadline.
    pub(crate) fn next(&mut self, slots: &Slots) -> Option<i64> {
        while let Some((key, from_heap)) = self.peek()
            && !key.is_live(slots)
        {
            self.pop(from_heap);
            self.dead -= 1;
        }
        while let Some(Reverse(key)) = self.fresh.peek()
            && !key.is_live(slots)
        {
            self.fresh.pop();
            self.dead -= 1;
        }
        let ripe = self.peek().map(|(key, _)| key.deadline);
        let fresh = self.fresh.peek().map(|Reverse(key)| key.deadline);
        ripe.into_iter().chain(fresh).min()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::timer::page::Directory;

    /// Keys, the first of which are those of live timers.
    fn keys(slots: &mut Slots, directory: &Directory, live: usize, all: usize) -> Vec<Key> {
        let mut keys = Vec::new();
        for number in 0..all {
            let index = slots.take(directory).unwrap();
            let sequence = number as u64 + 1;
            slots.page_of(index).slot(index).sequence.set(if number < live { sequence } else { 0 });
            keys.push(Key { deadline: number as i64, sequence, index });
        }
        keys
    }

    /// One for each part that can hold keys, with those in it.
    fn nears(keys: &[Key], capacity: usize) -> [Near; 3] {
        let queue = || {
            let mut queue = VecDeque::with_capacity(capacity);
            queue.extend(keys);
            queue
        };
        let heap = || {
            let mut heap = BinaryHeap::with_capacity(capacity);
            heap.extend(keys.iter().copied().map(Reverse));
            heap
        };
        [
            Near { queue: queue(), ..Near::new() },
            Near { heap: heap(), ..Near::new() },
            Near { fresh: heap(), ..Near::new() },
        ]
    }

    fn len(near: &Near) -> usize {
        near.queue.len() + near.heap.len() + near.fresh.len()
    }

    fn capacity(near: &Near) -> usize {
        near.queue.capacity() + near.heap.capacity() + near.fresh.capacity()
    }

    #[test]
    fn nothing_is_left_of_what_is_cleared() {
        let (mut slots, directory) = (Slots::new(), Directory::new());
        let keys = keys(&mut slots, &directory, 5, 5);
        for mut near in nears(&keys, 0) {
            assert!(!near.is_empty());
            near.clear();
            assert!(near.is_empty());
        }
    }

    #[test]
    fn the_dead_are_swept_when_they_are_many_and_more_than_half() {
        // Of few, more than half; of many, more than that.
        for all in [DEAD + 10, 4 * DEAD] {
            let (mut slots, directory) = (Slots::new(), Directory::new());
            let keys = keys(&mut slots, &directory, 5, all);
            for mut near in nears(&keys, 0) {
                let most = DEAD.max(all / 2);
                for _ in 0..most {
                    near.forget_one(&slots);
                    assert_eq!(len(&near), all);
                }
                near.forget_one(&slots);
                assert_eq!((len(&near), near.dead), (5, 0));
            }
        }
    }

    #[test]
    fn room_that_is_hardly_used_is_given_back() {
        let (mut slots, directory) = (Slots::new(), Directory::new());
        let keys = keys(&mut slots, &directory, KEEP, KEEP);
        for (used, room, left) in [
            (0, KEEP, KEEP),
            (0, KEEP + 1, KEEP),
            (KEEP, 4 * KEEP, 4 * KEEP),
            (KEEP, 4 * KEEP + 1, 2 * KEEP),
        ] {
            for mut near in nears(&keys[..used], room) {
                near.shrink();
                assert_eq!(capacity(&near), left, "{used} of {room}");
            }
        }
    }

    #[test]
    fn nothing_is_here_only_if_no_part_has_any() {
        let (mut slots, directory) = (Slots::new(), Directory::new());
        let keys = keys(&mut slots, &directory, 1, 1);
        assert!(Near::new().is_empty());
        for near in nears(&keys, 0) {
            assert!(!near.is_empty());
            assert_eq!(near.queued(), near.queue.len());
        }
    }
}

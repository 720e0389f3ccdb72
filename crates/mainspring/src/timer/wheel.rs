//! What is further away than the present granule: a hierarchy of wheels.
//!
//! # Shape
//!
//! Time is cut into granules of 2^18 ns, about a quarter of a millisecond. Each level has 4,096 buckets, and
//! a bucket of one level covers 2,048 of the level below:
//!
//! | level | a bucket covers | half of the level covers |
//! |---|---|---|
//! | 0 | 0.26 ms | 0.54 s |
//! | 1 | 0.54 s | 18 min |
//! | 2 | 18 min | 26 days |
//! | 3 | 26 days | (the whole level: 292 years, all that there is) |
//!
//! A timer is put on the lowest level whose present and next half cover it. The position of a bucket is the
//! granule's number shifted by the level's bits, taken round the level's size; that is unambiguous because
//! no level holds more than its two halves. A bucket is a list, unordered: order is made when its time
//! comes.
//!
//! # Why halves
//!
//! When a level's next half begins, the bucket of the level above that covers it must have been
//! distributed. As the next half can be filled while the present one runs, this is done ahead, some timers
//! in each tick ([`Wheel::prepare`]); only what is left is done at the boundary. With levels that
//! cover what they can hold, thousands of timers would have to be moved at once.
//!
//! # Links
//!
//! `prev` of a [`Node`] says where the timer is: [`UNLINKED`] nowhere, [`NEAR`] not here, with the bit
//! [`FIRST`] at the head of the bucket that the other bits name, otherwise behind that timer. `next` is the
//! next one in the bucket, or [`NONE`].

use crate::timer::bitmap::{BITS, Bitmap};
use crate::timer::page::{NONE, Node};
use crate::timer::slots::Slots;

/// In no queue.
pub(crate) const UNLINKED: u32 = NONE;

/// In a queue that has no links.
pub(crate) const NEAR: u32 = NONE - 1;

/// The first of its bucket.
const FIRST: u32 = 1 << 31;

const LEVELS: usize = 4;

/// A granule is this many bits of a time in nanoseconds.
const GRANULE_BITS: u32 = 18;

/// Between two levels.
const LEVEL_BITS: u32 = 11;

/// How many timers of a bucket are looked at in order to know its earliest deadline exactly.
const LOOKS: usize = 64;

const _: () = {
    assert!(BITS == 2 << LEVEL_BITS, "a level holds two halves");
    // The highest level has room for all granules, from one end of the range to the other.
    assert!(i64::MAX >> (GRANULE_BITS + 3 * LEVEL_BITS) == BITS as i64 - 1);
};

/// The granule of a time.
#[inline]
pub(crate) const fn granule(time: i64) -> i64 {
    time >> GRANULE_BITS
}

#[derive(Clone, Copy)]
struct Bucket {
    head: u32,
    /// The timer that had the earliest deadline. It may be gone.
    first: u32,
    /// Its deadline. No timer of the bucket has an earlier one.
    earliest: i64,
}

struct Level {
    occupied: Bitmap,
    buckets: Box<[Bucket; BITS as usize]>,
}

impl Level {
    fn new() -> Box<Self> {
        let empty = Bucket { head: NONE, first: NONE, earliest: i64::MAX };
        let buckets = vec![empty; BITS as usize].into_boxed_slice();
        let Ok(buckets) = buckets.try_into() else { unreachable!("as many as the type says") };
        Box::new(Self { occupied: Bitmap::new(), buckets })
    }
}

/// See the [module documentation](self).
pub(crate) struct Wheel {
    /// Made when they are needed.
    levels: [Option<Box<Level>>; LEVELS],
    /// Timers of this granule and earlier ones are not here.
    present: i64,
    len: usize,
}

/// A bucket of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    level: usize,
    position: i64,
}

impl Place {
    fn bucket(self) -> usize {
        (self.position as u32 % BITS) as usize
    }

    /// The first granule that it covers.
    fn start(self) -> i64 {
        self.position << (LEVEL_BITS * self.level as u32)
    }
}

impl Wheel {
    /// An empty one.
    pub(crate) const fn new(present: i64) -> Self {
        Self { levels: [const { None }; LEVELS], present, len: 0 }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The last granule that is not kept here.
    #[inline]
    pub(crate) fn present(&self) -> i64 {
        self.present
    }

    /// Where a granule after the present one belongs.
    #[inline]
    fn place(&self, granule: i64) -> Place {
        let (mut position, mut present) = (granule, self.present);
        for level in 0..LEVELS - 1 {
            if position < ((present >> LEVEL_BITS) + 2) << LEVEL_BITS {
                return Place { level, position };
            }
            position >>= LEVEL_BITS;
            present >>= LEVEL_BITS;
        }
        Place { level: LEVELS - 1, position }
    }

    /// Adds a timer whose deadline is in a later granule than the present one.
    #[inline]
    pub(crate) fn insert(&mut self, slots: &Slots, node: &Node, index: u32, deadline: i64) {
        let place = self.place(granule(deadline));
        debug_assert!(granule(deadline) > self.present);
        let Level { occupied, buckets } =
            &mut **self.levels[place.level].get_or_insert_with(Level::new);
        let bucket = &mut buckets[place.bucket()];
        node.prev.set(FIRST | (place.level as u32 * BITS) | place.bucket() as u32);
        node.next.set(bucket.head);
        if bucket.head == NONE {
            occupied.set(place.bucket() as u32);
            *bucket = Bucket { head: index, first: index, earliest: deadline };
        } else {
            slots.node(bucket.head).prev.set(index);
            bucket.head = index;
            if deadline < bucket.earliest {
                bucket.first = index;
                bucket.earliest = deadline;
            }
        }
        self.len += 1;
    }

    /// Takes a timer out.
    #[inline]
    pub(crate) fn remove(&mut self, slots: &Slots, node: &Node) {
        let (prev, next) = (node.prev.replace(UNLINKED), node.next.get());
        if next != NONE {
            slots.node(next).prev.set(prev);
        }
        self.len -= 1;
        if prev & FIRST == 0 {
            slots.node(prev).next.set(next);
            return;
        }
        let (level, bucket) = ((prev & !FIRST) / BITS, prev % BITS);
        let Some(level) = &mut self.levels[level as usize] else { return };
        level.buckets[bucket as usize].head = next;
        if next == NONE {
            level.occupied.reset(bucket);
        }
    }

    /// The first occupied bucket of a level. Those that are not after the present one are empty.
    #[inline]
    fn first_of(&self, level: usize) -> Option<Place> {
        let after = (self.present >> (LEVEL_BITS * level as u32)) + 1;
        let distance = self.levels[level].as_ref()?.occupied.distance(after as u32 % BITS)?;
        Some(Place { level, position: after + i64::from(distance) })
    }

    /// The bucket that begins first. Of two that begin together either will do: what comes out is sorted later.
    fn first(&self) -> Option<Place> {
        (0..LEVELS).filter_map(|level| self.first_of(level)).min_by_key(|place| place.start())
    }

    /// The earliest deadline. After the timer that had it was removed from a crowded bucket, possibly still
    /// that one: never a later one.
    #[inline]
    pub(crate) fn next(&mut self, slots: &Slots) -> Option<i64> {
        if self.len == 0 { None } else { self.earliest(slots) }
    }

    fn earliest(&mut self, slots: &Slots) -> Option<i64> {
        loop {
            // A bucket that is being distributed overlaps with those of the level below.
            let (place, bucket) = (0..LEVELS)
                .filter_map(|level| self.first_of(level))
                .map(|place| (place, self.bucket(place)))
                .min_by_key(|(_, bucket)| bucket.earliest)?;
            if Self::is_exact(slots, bucket) {
                return Some(bucket.earliest);
            }
            let Some(found) = Self::look(slots, bucket.head) else {
                return Some(bucket.earliest);
            };
            self.levels[place.level].as_mut()?.buckets[place.bucket()] = found;
        }
    }

    fn bucket(&self, place: Place) -> Bucket {
        match &self.levels[place.level] {
            Some(level) => level.buckets[place.bucket()],
            None => unreachable!("an occupied bucket"),
        }
    }

    /// Whether there is a timer with the bucket's earliest deadline.
    fn is_exact(slots: &Slots, bucket: Bucket) -> bool {
        slots.find(bucket.first).is_some_and(|_| {
            let node = slots.node(bucket.first);
            node.deadline.get() == bucket.earliest && node.prev.get() < NEAR
        })
    }

    /// Finds the earliest deadline of a bucket, unless that takes too long.
    fn look(slots: &Slots, head: u32) -> Option<Bucket> {
        let mut found = Bucket { head, first: head, earliest: i64::MAX };
        let mut index = head;
        for _ in 0..LOOKS {
            let node = slots.node(index);
            if node.deadline.get() <= found.earliest {
                found.first = index;
                found.earliest = node.deadline.get();
            }
            index = node.next.get();
            if index == NONE {
                return Some(found);
            }
        }
        None
    }

    /// Makes `to` the present granule, and gives out the timers up to it, in no order.
    pub(crate) fn advance(&mut self, slots: &Slots, to: i64, mut sink: impl FnMut(u32)) {
        while self.len > 0
            && let Some(place) = self.first()
            && place.start() <= to
        {
            // What is left of the bucket belongs to lower levels from here on.
            self.present = self.present.max(place.start() - 1);
            self.distribute(slots, place, usize::MAX, |this, index| {
                let node = slots.node(index);
                let deadline = node.deadline.get();
                if granule(deadline) <= to {
                    node.prev.set(UNLINKED);
                    sink(index);
                } else {
                    this.insert(slots, node, index, deadline);
                }
            });
        }
        self.pass(to);
    }

    /// Lets time pass in which nothing becomes due.
    #[inline]
    pub(crate) fn pass(&mut self, to: i64) {
        self.present = self.present.max(to);
    }

    /// Moves some timers ahead of their time to the next half of the level below, up to `budget` for each
    /// level.
    #[inline]
    pub(crate) fn prepare(&mut self, slots: &Slots, budget: usize) {
        if self.len > 0 {
            self.prepare_levels(slots, budget);
        }
    }

    fn prepare_levels(&mut self, slots: &Slots, budget: usize) {
        for level in 1..LEVELS {
            let Some(found) = &self.levels[level] else { continue };
            let position = (self.present >> (LEVEL_BITS * level as u32)) + 1;
            let place = Place { level, position };
            if found.occupied.is_set(place.bucket() as u32) {
                self.distribute(slots, place, budget, |this, index| {
                    let node = slots.node(index);
                    this.insert(slots, node, index, node.deadline.get());
                });
            }
        }
    }

    /// Takes up to `limit` timers out of a bucket, each for `f` to put elsewhere.
    fn distribute(
        &mut self,
        slots: &Slots,
        place: Place,
        limit: usize,
        mut f: impl FnMut(&mut Self, u32),
    ) {
        let Some(level) = &mut self.levels[place.level] else { return };
        let bucket = place.bucket();
        let mut index = std::mem::replace(&mut level.buckets[bucket].head, NONE);
        level.occupied.reset(bucket as u32);
        let mut left = limit;
        while index != NONE && left > 0 {
            let next = slots.node(index).next.get();
            self.len -= 1;
            f(self, index);
            index = next;
            left -= 1;
        }
        if index != NONE
            && let Some(level) = &mut self.levels[place.level]
        {
            debug_assert_eq!(level.buckets[bucket].head, NONE, "moved down, never back");
            let first = FIRST | (place.level as u32 * BITS) | bucket as u32;
            slots.node(index).prev.set(first);
            level.buckets[bucket].head = index;
            level.occupied.set(bucket as u32);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::timer::page::Directory;

    /// Granules in half of the lowest level.
    const HALF: i64 = 1 << LEVEL_BITS;

    struct Bench {
        directory: Directory,
        slots: Slots,
        wheel: Wheel,
    }

    impl Bench {
        fn new(present: i64) -> Self {
            let wheel = Wheel::new(present);
            Self { directory: Directory::new(), slots: Slots::new(), wheel }
        }

        /// Adds a timer whose deadline is in that granule.
        fn insert(&mut self, granule: i64) -> u32 {
            let index = self.slots.take(&self.directory).unwrap();
            let node = self.slots.page_of(index).node(index);
            let deadline = granule << GRANULE_BITS;
            node.deadline.set(deadline);
            self.wheel.insert(&self.slots, node, index, deadline);
            index
        }

        /// How many timers are on each level.
        fn counts(&self) -> [usize; LEVELS] {
            let next = |index: u32| {
                let next = self.slots.node(index).next.get();
                (next != NONE).then_some(next)
            };
            let count = |level: &Option<Box<Level>>| {
                let buckets = level.iter().flat_map(|level| level.buckets.iter());
                let heads = buckets.map(|bucket| bucket.head).filter(|head| *head != NONE);
                heads
                    .map(|head| std::iter::successors(Some(head), |index| next(*index)).count())
                    .sum()
            };
            self.wheel.levels.each_ref().map(count)
        }
    }

    #[test]
    fn a_granule_is_the_same_length_everywhere() {
        let length = 1 << GRANULE_BITS;
        for (time, expected) in [(0, 0), (length - 1, 0), (length, 1), (-1, -1), (-length, -1)] {
            assert_eq!(granule(time), expected, "{time}");
        }
    }

    #[test]
    fn a_timer_is_on_the_lowest_level_whose_halves_cover_it() {
        let wheel = Wheel::new(HALF - 1);
        for level in 0..LEVELS - 1 {
            let below = LEVEL_BITS * level as u32;
            let end = (2 * HALF) << below;
            let place = |granule| wheel.place(granule);
            assert_eq!(place(end - 1), Place { level, position: 2 * HALF - 1 });
            assert_eq!(place(end), Place { level: level + 1, position: 2 });
        }
        let last = granule(i64::MAX);
        let position = last >> (LEVEL_BITS * (LEVELS as u32 - 1));
        assert_eq!(wheel.place(last), Place { level: LEVELS - 1, position });
    }

    #[test]
    fn what_was_removed_is_not_there() {
        let mut bench = Bench::new(0);
        assert!(bench.wheel.is_empty());
        let index = bench.insert(9);
        assert!(!bench.wheel.is_empty());
        bench.wheel.remove(&bench.slots, bench.slots.node(index));
        assert!(bench.wheel.is_empty());
        assert_eq!(bench.counts(), [0; LEVELS]);
    }

    #[test]
    fn the_next_half_is_filled_ahead_and_bit_by_bit() {
        for level in 1..LEVELS {
            let mut bench = Bench::new(0);
            let length = 1 << (LEVEL_BITS * level as u32);
            for granule in 0..3 {
                bench.insert(2 * length + granule);
            }
            let mut expected = [0; LEVELS];
            expected[level] = 3;
            bench.wheel.prepare(&bench.slots, 2);
            assert_eq!(bench.counts(), expected, "it is not the next half");
            bench.wheel.pass(length);
            for moved in [2, 3, 3] {
                bench.wheel.prepare(&bench.slots, 2);
                assert_eq!(bench.counts()[level], 3 - moved);
                assert_eq!(bench.counts()[level - 1], moved);
            }
        }
    }

    #[test]
    fn what_is_left_of_a_bucket_can_be_removed() {
        for level in 1..LEVELS {
            let mut bench = Bench::new(0);
            let length = 1 << (LEVEL_BITS * level as u32);
            let first = bench.insert(2 * length);
            bench.insert(2 * length + 1);
            bench.wheel.pass(length);
            bench.wheel.prepare(&bench.slots, 1);
            assert_eq!(bench.counts()[level], 1);
            assert_eq!(bench.wheel.len, 2);
            bench.wheel.remove(&bench.slots, bench.slots.node(first));
            assert_eq!(bench.counts()[level], 0);
            assert_eq!(bench.wheel.first_of(level), None);
            assert_eq!(bench.wheel.len, 1);
        }
    }
}

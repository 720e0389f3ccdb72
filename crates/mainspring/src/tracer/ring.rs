//! A bounded queue of records with one producer and one consumer.
//!
//! # Words
//!
//! | word       | written by   | meaning                                        |
//! |------------|--------------|------------------------------------------------|
//! | `head`     | the producer | next position to write                         |
//! | `tail`     | the consumer | next position to read                          |
//! | `lost`     | the producer | how many records found no place                |
//! | `lost_at`  | the producer | when the last one of them was                  |
//! | `is_ended` | the producer | that it is gone                                |
//!
//! Position `p` lives in slot `p % CAPACITY`. The slots from `tail` to `head` hold records and are the
//! consumer's, the others are the producer's. Positions wrap, and so does all arithmetic on them.
//!
//! # Orderings
//!
//! * `head` is stored with Release and loaded by the consumer with Acquire: a record is complete before it is
//!   read.
//! * `tail` is stored with Release and loaded by the producer with Acquire: a record was read before it is
//!   overwritten.
//! * `is_ended` is stored with Release and loaded with Acquire, before `head` is: whoever sees it sees all there
//!   will ever be.
//! * `lost` is stored with Release after `lost_at`, and loaded with Acquire before it: the time is that of the
//!   number, or of a later one.
//!
//! The memory of a ring is not touched before it is used.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering, UnsafeCell};

/// How many records there is room for: 2 MB of them.
pub(super) const CAPACITY: usize = if cfg!(loom) {
    2
} else if cfg!(miri) {
    128
} else {
    1 << 16
};

/// How much room there has to be, after there was none, before records are taken again: so that what is lost
/// is lost in one piece.
const RELIEF: usize = CAPACITY / 4;

/// How many records are read before their slots are given back.
const STRIDE: usize = 1 << 9;

struct Ring<T> {
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    head: CachePadded<AtomicUsize>,
    tail: CachePadded<AtomicUsize>,
    lost: AtomicU64,
    lost_at: AtomicI64,
    is_ended: AtomicBool,
}

// SAFETY: a slot is touched by the producer or by the consumer, as `head` and `tail` say, and there is one of
// each. A record goes from one thread to the other, and nothing has to be dropped.
unsafe impl<T: Copy + Send> Sync for Ring<T> {}

/// Memory that is not touched.
#[cfg(not(loom))]
fn slots<T>() -> Box<[UnsafeCell<MaybeUninit<T>>]> {
    let slots = Box::<[UnsafeCell<MaybeUninit<T>>]>::new_uninit_slice(CAPACITY);
    // SAFETY: a slot is valid without being initialised, as that is what `MaybeUninit` says.
    unsafe { slots.assume_init() }
}

#[cfg(loom)]
fn slots<T>() -> Box<[UnsafeCell<MaybeUninit<T>>]> {
    (0..CAPACITY).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect()
}

/// A new ring.
pub(super) fn ring<T: Copy + Send>() -> (Producer<T>, Consumer<T>) {
    let ring = Arc::new(Ring {
        slots: slots(),
        head: CachePadded::new(AtomicUsize::new(0)),
        tail: CachePadded::new(AtomicUsize::new(0)),
        lost: AtomicU64::new(0),
        lost_at: AtomicI64::new(0),
        is_ended: AtomicBool::new(false),
    });
    let producer = Producer {
        ring: Arc::clone(&ring),
        head: Cell::new(0),
        limit: Cell::new(CAPACITY),
        is_losing: Cell::new(false),
    };
    (producer, Consumer { ring, seen: 0 })
}

/// The end that records are put in at. It belongs to one thread.
pub(super) struct Producer<T> {
    ring: Arc<Ring<T>>,
    /// What the ring's `head` is.
    head: Cell<usize>,
    /// The position at which there was no room when it was last looked.
    limit: Cell<usize>,
    /// Whether the last record was lost.
    is_losing: Cell<bool>,
}

impl<T: Copy + Send> Producer<T> {
    /// Puts a record in, and tells its position. `None`: there is no room.
    #[inline]
    pub(super) fn push(&self, record: T) -> Option<usize> {
        let head = self.head.get();
        if head == self.limit.get() && !self.find_room() {
            return None;
        }
        // SAFETY: the position is not beyond what `tail` allows, so the consumer does not touch the slot, and
        // this is the one producer, on its thread. The index is in range, by its mask.
        self.ring.slots[head % CAPACITY].with_mut(|slot| unsafe { (*slot).write(record) });
        let next = head.wrapping_add(1);
        self.head.set(next);
        self.ring.head.store(next, Ordering::Release);
        Some(head)
    }

    #[cold]
    fn find_room(&self) -> bool {
        let limit = self.ring.tail.load(Ordering::Acquire).wrapping_add(CAPACITY);
        let room = limit.wrapping_sub(self.head.get());
        let is_enough = room >= if self.is_losing.get() { RELIEF } else { 1 };
        if is_enough {
            self.limit.set(limit);
        }
        self.is_losing.set(!is_enough);
        is_enough
    }

    /// Counts a record that there was no room for.
    #[cold]
    pub(super) fn lose(&self, at: i64) {
        let ring = &self.ring;
        ring.lost_at.store(at, Ordering::Relaxed);
        ring.lost.store(ring.lost.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Says that nothing more will be put in.
    pub(super) fn end(&self) {
        self.ring.is_ended.store(true, Ordering::Release);
    }
}

/// The end that records are read at.
pub(super) struct Consumer<T> {
    ring: Arc<Ring<T>>,
    /// How many of the lost records were told of.
    seen: u64,
}

impl<T: Copy + Send> Consumer<T> {
    /// Whether nothing will be put in any more. What is there has to be read after that was asked.
    pub(super) fn is_ended(&self) -> bool {
        self.ring.is_ended.load(Ordering::Acquire)
    }

    /// Whether there is nothing to read now.
    pub(super) fn is_empty(&self) -> bool {
        self.ring.head.load(Ordering::Relaxed) == self.ring.tail.load(Ordering::Relaxed)
    }

    /// Reads what is there now, up to the first error. Tells how much that was.
    pub(super) fn read<E>(
        &mut self,
        mut each: impl FnMut(&T) -> Result<(), E>,
    ) -> Result<usize, E> {
        let ring = &*self.ring;
        let first = ring.tail.load(Ordering::Relaxed);
        let count = ring.head.load(Ordering::Acquire).wrapping_sub(first);
        for index in 0..count {
            let position = first.wrapping_add(index);
            // SAFETY: the position is before `head`, so its record is complete, and not before `tail`, so
            // the producer leaves it alone. This is the one consumer.
            let record =
                ring.slots[position % CAPACITY].with(|slot| unsafe { (*slot).assume_init() });
            if position % STRIDE == 0 {
                ring.tail.store(position, Ordering::Release);
            }
            each(&record)?;
        }
        ring.tail.store(first.wrapping_add(count), Ordering::Release);
        Ok(count)
    }

    /// How many records were lost since this was last asked, and when the last one was, if there were any.
    pub(super) fn lost(&mut self) -> Option<(u64, i64)> {
        let lost = self.ring.lost.load(Ordering::Acquire);
        let news = lost - std::mem::replace(&mut self.seen, lost);
        (news > 0).then(|| (news, self.ring.lost_at.load(Ordering::Relaxed)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::record::Record;
    use super::*;

    fn mark(at: i64) -> Record {
        Record::Mark { name: "", at }
    }

    fn all(consumer: &mut Consumer<Record>) -> Vec<i64> {
        let mut found = Vec::new();
        let each = |record: &Record| {
            let Record::Mark { at, .. } = record else { panic!("{record:?}") };
            found.push(*at);
            Ok::<_, ()>(())
        };
        let count = consumer.read(each).unwrap();
        assert_eq!(count, found.len());
        found
    }

    #[test]
    fn what_is_put_in_is_read_in_order_and_once() {
        let (producer, mut consumer) = ring();
        let mut next = 0;
        for count in [0, 1, 5, CAPACITY, 7, CAPACITY - 1, CAPACITY, 0, 3] {
            let numbers: Vec<_> = (next..next + count as i64).collect();
            for number in &numbers {
                assert!(producer.push(mark(*number)).is_some());
            }
            assert_eq!(all(&mut consumer), numbers);
            next += count as i64;
        }
        assert!(consumer.lost().is_none());
    }

    #[test]
    fn a_full_ring_takes_nothing_until_there_is_relief() {
        let (producer, mut consumer) = ring();
        for number in 0..CAPACITY as i64 {
            assert!(producer.push(mark(number)).is_some());
        }
        assert!(producer.push(mark(-1)).is_none());
        producer.lose(17);
        let mut left = RELIEF - 1;
        let few = |_: &Record| {
            left = left.checked_sub(1).ok_or(())?;
            Ok::<_, ()>(())
        };
        assert!(consumer.read(few).is_err());
        assert!(producer.push(mark(-1)).is_none());
        producer.lose(18);
        assert_eq!(consumer.lost(), Some((2, 18)));
        assert_eq!(consumer.lost(), None);
        all(&mut consumer);
        assert!(producer.push(mark(1)).is_some());
        assert_eq!(all(&mut consumer), [1]);
    }

    #[test]
    fn what_a_thread_was_told_is_in_is_read_by_another() {
        let (producer, mut consumer) = ring();
        let count = if cfg!(miri) { 300 } else { 8 * CAPACITY as i64 };
        let thread = std::thread::spawn(move || {
            let is_in = |number: &i64| producer.push(mark(*number)).is_some();
            let accepted: Vec<_> = (0..count).filter(is_in).collect();
            producer.end();
            accepted
        });
        let mut found = Vec::new();
        loop {
            let is_ended = consumer.is_ended();
            found.extend(all(&mut consumer));
            if is_ended {
                break;
            }
        }
        assert!(found == thread.join().unwrap());
    }
}

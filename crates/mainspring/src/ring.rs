//! A bounded lock-free queue with many producers and one consumer, that can be closed.
//!
//! # Words
//!
//! | word          | written by        | meaning                                                     |
//! |---------------|-------------------|-------------------------------------------------------------|
//! | `tail`        | producers, closer | next position to claim, shifted left by one; bit 0: closed  |
//! | `head`        | the consumer      | next position to take                                       |
//! | `slot.turn`   | see below         | whose turn it is at this slot                               |
//!
//! Position `p` lives in slot `p % capacity` on lap `p / capacity`. With `lap` that number:
//!
//! | `slot.turn`   | meaning                       | next step                                       |
//! |---------------|-------------------------------|-------------------------------------------------|
//! | `2 * lap`     | free for the producer of `p`  | claim by CAS on `tail`, write, store `2*lap+1`  |
//! | `2 * lap + 1` | holds the value of `p`        | the consumer moves it out, stores `2*lap+2`     |
//!
//! All-zero memory is an empty ring. It is allocated by the first push: a loop has three rings, and most loops use one of
//! them at the most.
//!
//! # Orderings
//!
//! * `turn` is stored with Release and loaded with Acquire, both by the producer (its partner is the
//!   consumer's store that freed the slot: the value was moved out before it is overwritten) and by
//!   the consumer (its partner is the producer's store that published the slot: the value is
//!   complete before it is moved out).
//! * `tail` is claimed with Relaxed: a claim carries no data, `turn` does. `len` needs no more than
//!   that either: it is exact for whoever is ordered after the operations it asks about.
//! * Closing is one atomic `or` on the word that producers claim on: each claim is before it, and
//!   will be published, or after it, and is refused. So what was accepted is known exactly (IN-4).
//!
//! Positions wrap; all arithmetic on them does. A stalled producer could mistake a position for
//! another only after `usize::MAX / 2` claims between two of its instructions.

use std::mem::MaybeUninit;

use crossbeam_utils::CachePadded;

#[cfg(not(loom))]
use crate::once_slice::OnceSlice;
use crate::sync::{AtomicUsize, Ordering, UnsafeCell};

/// Bit 0 of `tail`.
const CLOSED: usize = 1;

/// Why a value was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// No slot is free.
    Full,
    /// The queue was closed.
    Closed,
    /// It has to be put in by another way.
    Guarded,
}

#[repr(align(64))]
struct Slot<T> {
    turn: AtomicUsize,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// See the [module documentation](self).
pub(crate) struct Ring<T> {
    slots: Slots<T>,
    /// The base-2 logarithm of the capacity.
    shift: u32,
    tail: CachePadded<AtomicUsize>,
    head: CachePadded<AtomicUsize>,
}

// SAFETY: values move from producers to the consumer, so they must be `Send`; a slot's value is
// touched only by whoever's turn it is, as the table above says.
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: as for `Send`; no method hands out a reference to a value.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    /// Makes a ring of `2^shift` slots.
    pub(crate) fn new(shift: u32) -> Self {
        Self {
            slots: Slots::new(1 << shift),
            shift,
            tail: CachePadded::new(AtomicUsize::new(0)),
            head: CachePadded::new(AtomicUsize::new(0)),
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The slot of a position, unless nothing was ever put in. For the consumer.
    #[inline]
    fn slot(&self, position: usize) -> Option<&Slot<T>> {
        Some(at(self.slots.get()?, position))
    }

    /// The `turn` that means "free for the producer of this position". Twice the lap number, which
    /// wraps like the position does.
    fn free_turn(&self, position: usize) -> usize {
        (position >> self.shift) << 1
    }

    /// The position `n` further on. Positions have one bit less than a word, as in `tail`.
    fn after(position: usize, n: usize) -> usize {
        position.wrapping_add(n) & (usize::MAX >> 1)
    }

    /// Puts in what `make` makes of `input`, or hands `input` back.
    ///
    /// `make` must not panic: the slot is already claimed when it is called.
    #[inline]
    pub(crate) fn push<I>(&self, input: I, make: impl Fn(I) -> T) -> Result<(), (Refused, I)> {
        let mut tail = self.tail.load(Ordering::Relaxed);
        let slots = match self.slots.get() {
            Some(slots) => slots,
            // Nothing will ever be in it.
            None if tail & CLOSED != 0 => return Err((Refused::Closed, input)),
            None => self.slots.get_or_make(empty_slots),
        };
        loop {
            if tail & CLOSED != 0 {
                return Err((Refused::Closed, input));
            }
            let position = tail >> 1;
            let slot = at(slots, position);
            let free = self.free_turn(position);
            let turn = slot.turn.load(Ordering::Acquire);
            if turn == free {
                let next = Self::after(position, 1) << 1;
                match self.tail.compare_exchange_weak(
                    tail,
                    next,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => {
                        // SAFETY: the turn was "free", and winning the CAS makes this thread the
                        // only producer of this position; the consumer waits for `free + 1`.
                        slot.value.with_mut(|value| unsafe {
                            (*value).write(make(input));
                        });
                        slot.turn.store(free.wrapping_add(1), Ordering::Release);
                        return Ok(());
                    }
                    Err(now) => tail = now,
                }
            } else {
                // Either the slot still holds the value of the lap before (the ring is full), or
                // `tail` was read before another producer moved it.
                let now = self.tail.load(Ordering::Relaxed);
                if now == tail {
                    return Err((Refused::Full, input));
                }
                tail = now;
            }
        }
    }

    /// Whether [`Ring::pop`] would find a value. For the consumer only.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        let position = self.head.load(Ordering::Relaxed);
        self.slot(position).is_some_and(|slot| {
            slot.turn.load(Ordering::Acquire) == self.free_turn(position).wrapping_add(1)
        })
    }

    /// Takes the oldest value out, if it is complete.
    ///
    /// # Safety
    ///
    /// One thread at a time may be the consumer, and successive consumers must be ordered.
    #[inline]
    pub(crate) unsafe fn pop(&self) -> Option<T> {
        let position = self.head.load(Ordering::Relaxed);
        let slot = self.slot(position)?;
        let free = self.free_turn(position);
        if slot.turn.load(Ordering::Acquire) != free.wrapping_add(1) {
            return None;
        }
        // SAFETY: the turn says that the value is there, and no producer touches it before the
        // store below; the caller says that no other consumer is about.
        let value = slot.value.with_mut(|value| unsafe { (*value).assume_init_read() });
        // The slot is given back before the cursor moves on (F-22): its producer looks at the turn
        // alone.
        slot.turn.store(self.free_turn(Self::after(position, self.capacity())), Ordering::Release);
        self.head.store(Self::after(position, 1), Ordering::Release);
        Some(value)
    }

    /// Values claimed and not yet taken out.
    pub(crate) fn len(&self) -> usize {
        let head = self.head.load(Ordering::Acquire);
        let tail = self.tail.load(Ordering::Relaxed) >> 1;
        // The loop may have moved on between the two looks.
        (tail.wrapping_sub(head) & (usize::MAX >> 1)).min(self.capacity())
    }

    /// How many positions were ever claimed; wraps.
    #[inline]
    pub(crate) fn pushed(&self) -> usize {
        self.tail.load(Ordering::Relaxed) >> 1
    }

    /// Refuses every push from now on.
    pub(crate) fn close(&self) {
        self.tail.fetch_or(CLOSED, Ordering::Relaxed);
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: `&mut self`: there is no other consumer, and no producer.
        while let Some(value) = unsafe { self.pop() } {
            drop(value);
        }
    }
}

#[inline]
fn at<T>(slots: &[Slot<T>], position: usize) -> &Slot<T> {
    // The capacity is a power of two, so this is a mask and needs no bounds check.
    &slots[position & (slots.len() - 1)]
}

#[cfg(not(loom))]
type Slots<T> = OnceSlice<Slot<T>>;

#[cfg(not(loom))]
fn empty_slots<T>(capacity: usize) -> Box<[Slot<T>]> {
    let slots = Box::<[Slot<T>]>::new_zeroed_slice(capacity);
    // SAFETY: zero is a valid turn, and the value need not be initialised.
    unsafe { slots.assume_init() }
}

/// In a model they are there from the beginning: how they come about has a model of its own.
#[cfg(loom)]
struct Slots<T>(Box<[Slot<T>]>);

#[cfg(loom)]
impl<T> Slots<T> {
    fn new(capacity: usize) -> Self {
        Self(empty_slots(capacity))
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self) -> Option<&[Slot<T>]> {
        Some(&self.0)
    }

    fn get_or_make(&self, _: fn(usize) -> Box<[Slot<T>]>) -> &[Slot<T>] {
        &self.0
    }
}

#[cfg(loom)]
fn empty_slots<T>(capacity: usize) -> Box<[Slot<T>]> {
    (0..capacity)
        .map(|_| Slot { turn: AtomicUsize::new(0), value: UnsafeCell::new(MaybeUninit::uninit()) })
        .collect()
}

#[cfg(all(any(test, fuzzing), not(loom)))]
impl<T> Ring<T> {
    /// An empty ring whose next position is `start`, a multiple of the capacity.
    pub(crate) fn starting_at(shift: u32, start: usize) -> Self {
        let ring = Self::new(shift);
        for slot in ring.slots.get_or_make(empty_slots) {
            slot.turn.store(ring.free_turn(start), Ordering::Relaxed);
        }
        ring.tail.store(start << 1, Ordering::Relaxed);
        ring.head.store(start, Ordering::Relaxed);
        ring
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::rc::Rc;

    /// The only consumer of these tests is the test itself.
    fn pop<T>(ring: &Ring<T>) -> Option<T> {
        // SAFETY: one thread.
        unsafe { ring.pop() }
    }

    fn push<T>(ring: &Ring<T>, value: T) -> Result<(), (Refused, T)> {
        ring.push(value, |value| value)
    }

    // spec: MT-4, MT-5
    #[test]
    fn values_come_out_in_order_and_a_full_ring_hands_the_value_back() {
        for shift in 0..4 {
            let ring = Ring::new(shift);
            for lap in 0..10 {
                for n in 0..ring.capacity() {
                    push(&ring, lap * 100 + n).unwrap();
                }
                assert_eq!(push(&ring, 7), Err((Refused::Full, 7)));
                assert_eq!(ring.len(), ring.capacity());
                assert_eq!(ring.pushed(), (lap + 1) * ring.capacity());
                for n in 0..ring.capacity() {
                    assert!(ring.is_ready());
                    assert_eq!(pop(&ring), Some(lap * 100 + n));
                }
                assert!(!ring.is_ready());
                assert_eq!(pop(&ring), None);
                assert_eq!(ring.len(), 0);
            }
        }
    }

    // spec: MT-4
    #[test]
    fn positions_wrap_without_losing_a_value() {
        for shift in 0..3 {
            let capacity = 1_usize << shift;
            let start = (usize::MAX >> 1) - (3 * capacity - 1);
            let ring = Ring::starting_at(shift, start);
            for n in 0..10 * capacity {
                push(&ring, n).unwrap();
                assert_eq!(ring.len(), 1);
                assert_eq!(pop(&ring), Some(n));
            }
            let ring = Ring::starting_at(shift, start);
            for lap in 0..10 {
                for n in 0..capacity {
                    push(&ring, lap * capacity + n).unwrap();
                }
                assert_eq!(push(&ring, 0), Err((Refused::Full, 0)));
                for n in 0..capacity {
                    assert_eq!(pop(&ring), Some(lap * capacity + n));
                }
            }
        }
    }

    // spec: IN-4
    #[test]
    fn a_closed_ring_refuses_and_keeps_what_it_accepted() {
        let ring = Ring::new(2);
        push(&ring, 1).unwrap();
        push(&ring, 2).unwrap();
        ring.close();
        ring.close();
        assert_eq!(push(&ring, 3), Err((Refused::Closed, 3)));
        assert_eq!(ring.len(), 2);
        assert_eq!((pop(&ring), pop(&ring), pop(&ring)), (Some(1), Some(2), None));
    }

    // spec: MT-4
    #[test]
    fn a_slot_that_is_claimed_and_not_filled_is_not_free_a_lap_later() {
        let ring = Ring::new(1);
        let slow = ring.push(0, |value| {
            // As other producers would, while this one has its slot and has not published it.
            push(&ring, 1).unwrap();
            assert_eq!(push(&ring, 2), Err((Refused::Full, 2)));
            assert!(!ring.is_ready());
            value
        });
        assert_eq!(slow, Ok(()));
        assert_eq!((pop(&ring), pop(&ring), pop(&ring)), (Some(0), Some(1), None));
    }

    #[test]
    fn a_ring_has_slots_only_when_something_may_be_in_it() {
        let ring = Ring::new(2);
        assert_eq!((ring.is_ready(), ring.len(), pop(&ring)), (false, 0, None));
        assert!(ring.slots.get().is_none());
        ring.close();
        assert_eq!(push(&ring, 1), Err((Refused::Closed, 1)));
        assert!(ring.slots.get().is_none());
    }

    // spec: MT-5
    #[test]
    fn a_slot_releases_what_it_held_at_once() {
        let value = Rc::new(());
        let ring = Ring::new(2);
        for _ in 0..3 {
            push(&ring, Rc::clone(&value)).unwrap();
        }
        drop(pop(&ring));
        assert_eq!(Rc::strong_count(&value), 3);
        drop(ring);
        assert_eq!(Rc::strong_count(&value), 1);
    }
}

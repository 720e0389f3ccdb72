//! A first-in, first-out queue in chunks, for one thread at a time.
//!
//! # Shape
//!
//! ```text
//! head ─▶ [ . . a b c ] ─▶ [ d e f g h ] ─▶ [ i j . . . ] ◀─ tail
//!              ▲ read                            ▲ write
//! ```
//!
//! Push writes at the `write` cursor of the tail chunk, pop reads at the `read` cursor of the head
//! chunk; nothing is ever shifted. A chunk that was read to its end goes to a short list of spares
//! and is used again; spares beyond [`SPARES`] are freed, so a burst gives its memory back. When the
//! last entry leaves, the one chunk that remains resets its cursors.
//!
//! # Invariants
//!
//! 1. `head` is null exactly if `tail` is null, and then nothing was ever pushed.
//! 2. The live entries are the slots `read..CHUNK` of the head, all slots of the chunks between, and
//!    `0..write` of the tail; `read..write` if head and tail are the same chunk.
//! 3. If head and tail are the same chunk and it is empty, both cursors are 0. If they are not, the
//!    chunks after the head hold at least one entry each. A head that was read to its end is left by
//!    the next pop, not before: its last value may still be in its place.
//! 4. No slot outside the live ones holds a value: pop gives the value away. So a spare chunk keeps
//!    nothing alive (P1), and is as good as a new one (P4).
//!
//! All methods take `&self`, so that a callback may push while the loop is between two pops. That is
//! sound because no method runs code of the element type (values are moved, never cloned, compared
//! or dropped), so no call can start while another one is on the stack; and the type is `!Sync`.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

/// Entries in a chunk.
const CHUNK: usize = 128;

/// Chunks kept for reuse: enough for several ticks at the default budget, so that a loop that is behind
/// allocates nothing either.
const SPARES: usize = 64;

struct Chunk<T> {
    next: *mut Chunk<T>,
    slots: [MaybeUninit<T>; CHUNK],
}

/// See the [module documentation](self).
pub(crate) struct ChunkQueue<T> {
    head: Cell<*mut Chunk<T>>,
    tail: Cell<*mut Chunk<T>>,
    read: Cell<usize>,
    write: Cell<usize>,
    /// Chunks from head to tail.
    chunks: Cell<usize>,
    spare: Cell<*mut Chunk<T>>,
    spares: Cell<usize>,
}

/// Where the entries of a queue are, for those who check it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursors {
    head: usize,
    tail: usize,
    pub(crate) read: usize,
    pub(crate) write: usize,
    chunks: usize,
}

impl Cursors {
    /// Entries in the queue.
    pub(crate) fn len(&self) -> usize {
        match self.chunks {
            0 => 0,
            n => (n - 1) * CHUNK + self.write - self.read,
        }
    }

    /// Whether the next pop leaves the head chunk, so that every slot of it was given away.
    pub(crate) fn is_head_spent(&self) -> bool {
        self.read == CHUNK
    }

    /// Whether a pop has emptied a queue that looked so before, and has kept its only chunk.
    pub(crate) fn is_reset_since(&self, before: &Self) -> bool {
        self.head == before.head && self.write == 0 && before.write != 0
    }

    /// What is wrong with them in themselves, if something is.
    pub(crate) fn defect(&self) -> Option<&'static str> {
        let is_one = self.head == self.tail;
        if (self.head == 0) != (self.tail == 0) {
            Some("a queue has a first chunk or a last one, and not both")
        } else if self.read > CHUNK || self.write > CHUNK {
            Some("a cursor is beyond its chunk")
        } else if is_one != (self.chunks <= 1) || (self.head == 0) != (self.chunks == 0) {
            Some("the number of chunks is not that of the list")
        } else if is_one && self.read > self.write {
            Some("the cursor of reading is beyond that of writing")
        } else if is_one && self.read == self.write && self.write != 0 {
            Some("the cursors of an empty queue are not at its begin")
        } else {
            None
        }
    }
}

// SAFETY: the queue owns its chunks and their values; nothing in it is tied to a thread.
unsafe impl<T: Send> Send for ChunkQueue<T> {}

impl<T> ChunkQueue<T> {
    pub(crate) const fn new() -> Self {
        Self {
            head: Cell::new(ptr::null_mut()),
            tail: Cell::new(ptr::null_mut()),
            read: Cell::new(0),
            write: Cell::new(0),
            chunks: Cell::new(0),
            spare: Cell::new(ptr::null_mut()),
            spares: Cell::new(0),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head.get() == self.tail.get() && self.read.get() == self.write.get()
    }

    #[inline]
    pub(crate) fn push(&self, value: T) {
        // SAFETY: the place is filled.
        unsafe { self.push_in_place(|place| place.write(value)) };
    }

    /// Pushes a value that is made where it stays.
    ///
    /// # Safety
    ///
    /// `fill` writes a value to the place that it is given, and does not use the queue.
    #[inline]
    pub(crate) unsafe fn push_in_place(&self, fill: impl FnOnce(*mut T)) {
        if self.write.get() == CHUNK || self.tail.get().is_null() {
            self.grow();
        }
        let write = self.write.get();
        // SAFETY: `grow` made sure that there is a tail chunk with room at `write` (invariant 2
        // says that no live value is there), and chunks are only reached through this queue.
        fill(unsafe { (&raw mut (*self.tail.get()).slots).cast::<T>().add(write) });
        self.write.set(write + 1);
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        // SAFETY: the value is given away by `pop_in_place`, and moved before the next call.
        self.pop_in_place().map(|value| unsafe { value.read() })
    }

    /// Gives the oldest value away without moving it. Whoever gets it must move it, run it or drop it
    /// before the next call of any method: until then it stays where it is.
    #[inline]
    pub(crate) fn pop_in_place(&self) -> Option<NonNull<T>> {
        if self.is_empty() {
            return None;
        }
        if self.read.get() == CHUNK {
            self.leave_head();
        }
        let head = self.head.get();
        let read = self.read.get();
        // SAFETY: the queue is not empty, so there is a head, and slot `read` of it is live
        // (invariants 2 and 3); moving the cursor below takes it out of the live ones.
        let value = unsafe { &raw mut (*head).slots[read] };
        if head == self.tail.get() && read + 1 == self.write.get() {
            self.read.set(0);
            self.write.set(0);
        } else {
            self.read.set(read + 1);
        }
        NonNull::new(value.cast())
    }

    /// Exchanges the contents of two queues, spares included.
    pub(crate) fn swap(&self, other: &Self) {
        self.head.swap(&other.head);
        self.tail.swap(&other.tail);
        self.read.swap(&other.read);
        self.write.swap(&other.write);
        self.chunks.swap(&other.chunks);
        self.spare.swap(&other.spare);
        self.spares.swap(&other.spares);
    }

    /// Adds an empty tail chunk.
    #[cold]
    fn grow(&self) {
        let chunk = if self.spare.get().is_null() {
            Self::allocate()
        } else {
            let chunk = self.spare.get();
            // SAFETY: spares are owned by this queue and were allocated by it.
            self.spare.set(unsafe { (*chunk).next });
            self.spares.set(self.spares.get() - 1);
            // SAFETY: as above; nothing else points to the chunk now.
            unsafe { (*chunk).next = ptr::null_mut() };
            chunk
        };
        if self.tail.get().is_null() {
            self.head.set(chunk);
        } else {
            // SAFETY: the tail is a live chunk of this queue.
            unsafe { (*self.tail.get()).next = chunk };
        }
        self.tail.set(chunk);
        self.write.set(0);
        self.chunks.set(self.chunks.get() + 1);
    }

    /// Moves on to the chunk after the head, which was read to its end and is not the tail.
    #[cold]
    fn leave_head(&self) {
        let chunk = self.head.get();
        // SAFETY: the head is a live chunk; it is not the tail, so its successor exists.
        self.head.set(unsafe { (*chunk).next });
        self.read.set(0);
        self.chunks.set(self.chunks.get() - 1);
        if self.spares.get() < SPARES {
            // SAFETY: the chunk has left the list; this queue alone points to it.
            unsafe { (*chunk).next = self.spare.get() };
            self.spare.set(chunk);
            self.spares.set(self.spares.get() + 1);
        } else {
            // SAFETY: the chunk has left the list, came from `allocate`, and holds no live value.
            unsafe { Self::free(chunk) };
        }
    }

    fn allocate() -> *mut Chunk<T> {
        let mut chunk = Box::<Chunk<T>>::new_uninit();
        // SAFETY: writing a field of an allocated chunk; the slots need no initialisation.
        unsafe { (&raw mut (*chunk.as_mut_ptr()).next).write(ptr::null_mut()) };
        // SAFETY: `next` is set and `slots` may be uninitialised.
        Box::into_raw(unsafe { chunk.assume_init() })
    }

    /// # Safety
    ///
    /// The chunk came from `allocate`, holds no live value, and is not used again.
    unsafe fn free(chunk: *mut Chunk<T>) {
        // SAFETY: the caller gives the chunk up.
        drop(unsafe { Box::from_raw(chunk) });
    }

    /// Entries in the queue.
    pub(crate) fn len(&self) -> usize {
        self.cursors().len()
    }

    /// Where the entries are.
    pub(crate) fn cursors(&self) -> Cursors {
        Cursors {
            head: self.head.get().addr(),
            tail: self.tail.get().addr(),
            read: self.read.get(),
            write: self.write.get(),
            chunks: self.chunks.get(),
        }
    }

    /// The first slots of the head chunk, which has so many.
    pub(crate) fn first_slots(&self, slots: usize) -> impl Iterator<Item = NonNull<T>> {
        let head = NonNull::new(self.head.get());
        head.into_iter().flat_map(move |head| {
            (0..slots.min(CHUNK)).map(move |slot| {
                // SAFETY: the head is a chunk of this queue, and has that slot.
                unsafe { NonNull::new_unchecked((&raw mut (*head.as_ptr()).slots[slot]).cast()) }
            })
        })
    }

    /// Chunks that are allocated.
    pub(crate) fn allocated(&self) -> usize {
        self.chunks.get() + self.spares.get()
    }

    /// Moves the cursor of reading to where it does not belong.
    #[cfg(test)]
    pub(crate) fn corrupt(&self) {
        self.read.set(self.read.get() + 1);
    }

    /// Puts the bits of the last entry into the queue a second time.
    ///
    /// # Safety
    ///
    /// One of both is leaked.
    #[cfg(test)]
    pub(crate) unsafe fn repeat_last(&self) {
        // SAFETY: the slot before the cursor of writing holds an entry, as the caller has just pushed one.
        let last = unsafe { (&raw mut (*self.tail.get()).slots[self.write.get() - 1]).read() };
        // SAFETY: it is initialised, and says the caller what becomes of it.
        self.push(unsafe { last.assume_init() });
    }

    /// Checks the invariants that can be checked without looking at the values.
    #[cfg(test)]
    fn check(&self) {
        assert_eq!(self.cursors().defect(), None);
        let mut chunks = 0;
        let mut chunk = self.head.get();
        while !chunk.is_null() {
            chunks += 1;
            // SAFETY: the list consists of live chunks of this queue.
            chunk = unsafe { (*chunk).next };
        }
        assert_eq!(self.chunks.get(), chunks);
        let len = self.len();
        assert_eq!(self.is_empty(), len == 0);
        assert!(self.spares.get() <= SPARES);
    }
}

impl<T> Drop for ChunkQueue<T> {
    fn drop(&mut self) {
        while let Some(value) = self.pop() {
            drop(value);
        }
        let mut left = self.allocated();
        for list in [self.head.get(), self.spare.get()] {
            let mut chunk = list;
            while !chunk.is_null() {
                // SAFETY: both lists consist of chunks of this queue.
                let next = unsafe { (*chunk).next };
                // SAFETY: the queue is empty, so the chunk holds nothing, and it is left behind.
                unsafe { Self::free(chunk) };
                chunk = next;
                left = left.wrapping_sub(1);
            }
        }
        debug_assert!(left == 0 || std::thread::panicking(), "a queue has lost {left} chunks");
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::rc::Rc;

    /// A small deterministic generator, so that a failing run can be repeated.
    fn random(seed: &mut u64) -> u64 {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    }

    // spec: IN-3, D10
    #[test]
    fn order_is_kept_across_chunks_against_a_plain_queue() {
        // Miri takes a second for what a processor does in a millisecond.
        let (seeds, rounds) = if cfg!(miri) { (1, 8) } else { (50, 200) };
        for seed in 1..=seeds {
            let mut seed = seed * 0x9E37_79B9_u64;
            let queue = ChunkQueue::new();
            let mut plain = VecDeque::new();
            let mut next = 0_u64;
            for _ in 0..rounds {
                let pushes = random(&mut seed) % 300;
                for _ in 0..pushes {
                    queue.push(next);
                    plain.push_back(next);
                    next += 1;
                }
                for _ in 0..random(&mut seed) % 300 {
                    assert_eq!(queue.pop(), plain.pop_front());
                    queue.check();
                }
                queue.check();
                assert_eq!(queue.len(), plain.len());
            }
        }
    }

    // spec: IN-3
    #[test]
    fn one_emptied_chunk_resets_its_cursors_and_is_kept() {
        let queue = ChunkQueue::new();
        queue.push(0);
        let chunk = queue.head.get();
        queue.pop();
        for _ in 0..if cfg!(miri) { 3 } else { 1_000 } {
            for n in 0..CHUNK {
                queue.push(n);
            }
            for n in 0..CHUNK {
                assert_eq!(queue.pop(), Some(n));
            }
            queue.check();
        }
        assert_eq!(queue.head.get(), chunk, "no chunk was replaced");
        assert_eq!((queue.read.get(), queue.write.get()), (0, 0));
    }

    // spec: IN-3
    #[test]
    fn no_captured_value_is_alive_after_its_chunk_was_returned() {
        let value = Rc::new(());
        let queue = ChunkQueue::new();
        for _ in 0..(SPARES + 12) * CHUNK {
            queue.push(Rc::clone(&value));
        }
        for left in (0..(SPARES + 12) * CHUNK).rev() {
            queue.pop();
            assert_eq!(Rc::strong_count(&value), left + 1);
        }
        assert_eq!(queue.spares.get(), SPARES);
    }

    // spec: IN-3
    #[test]
    fn emptied_chunks_are_reused_and_a_burst_gives_its_memory_back() {
        let queue = ChunkQueue::new();
        let chunks = if cfg!(miri) { SPARES + 3 } else { 1_000 };
        for n in 0..chunks * CHUNK {
            queue.push(n);
        }
        while queue.pop().is_some() {}
        assert_eq!(queue.spares.get(), SPARES, "only the spares remain");
        let spare = queue.spare.get();
        for n in 0..=CHUNK {
            queue.push(n);
        }
        assert_eq!(queue.tail.get(), spare, "the spare was used before an allocation");
    }

    // spec: IN-3
    #[test]
    fn dropping_the_queue_drops_each_value_once() {
        let value = Rc::new(());
        let queue = ChunkQueue::new();
        for _ in 0..3 * CHUNK + 7 {
            queue.push(Rc::clone(&value));
        }
        for _ in 0..CHUNK + 3 {
            queue.pop();
        }
        drop(queue);
        assert_eq!(Rc::strong_count(&value), 1);
    }

    #[test]
    fn swap_exchanges_everything() {
        let a = ChunkQueue::new();
        let b = ChunkQueue::new();
        for n in 0..300 {
            a.push(n);
        }
        b.push(1_000);
        a.swap(&b);
        a.check();
        b.check();
        assert_eq!(a.pop(), Some(1_000));
        assert_eq!(a.pop(), None);
        assert!((0..300).all(|n| b.pop() == Some(n)));
        assert_eq!(b.pop(), None);
    }

    #[test]
    fn cursors_that_cannot_be_those_of_a_queue_are_told_from_others() {
        let cursors = |head, tail, read, write, chunks| Cursors { head, tail, read, write, chunks };
        for sound in [
            cursors(0, 0, 0, 0, 0),
            cursors(8, 8, 0, 0, 1),
            cursors(8, 8, 3, CHUNK, 1),
            cursors(8, 16, CHUNK, 1, 2),
            cursors(8, 16, 3, 3, 2),
        ] {
            assert_eq!(sound.defect(), None, "{sound:?}");
        }
        for (broken, part) in [
            (cursors(0, 8, 0, 0, 0), "and not both"),
            (cursors(8, 0, 0, 0, 1), "and not both"),
            (cursors(8, 16, CHUNK + 1, 1, 2), "beyond its chunk"),
            (cursors(8, 16, 0, CHUNK + 1, 2), "beyond its chunk"),
            (cursors(8, 8, 0, 1, 2), "number of chunks"),
            (cursors(8, 16, 0, 1, 1), "number of chunks"),
            (cursors(8, 8, 0, 1, 0), "number of chunks"),
            (cursors(0, 0, 0, 0, 1), "number of chunks"),
            (cursors(8, 8, 2, 1, 1), "beyond that of writing"),
            (cursors(8, 8, 2, 2, 1), "not at its begin"),
        ] {
            let defect = broken.defect().unwrap_or_default();
            assert!(defect.contains(part), "{broken:?}: {defect:?}");
        }
    }

    // spec: IN-3
    #[test]
    fn a_head_is_spent_when_its_last_entry_was_taken_and_not_before() {
        let queue = ChunkQueue::new();
        for n in 0..=CHUNK {
            queue.push(n);
        }
        for n in 0..CHUNK {
            assert!(!queue.cursors().is_head_spent(), "{n}");
            assert_eq!(queue.pop(), Some(n));
        }
        assert!(queue.cursors().is_head_spent());
        assert_eq!(queue.pop(), Some(CHUNK));
        assert!(!queue.cursors().is_head_spent());
    }
}

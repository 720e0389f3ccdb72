//! One lane's entrance for other threads: a lock-free ring with an ordered, bounded overflow.
//!
//! # Why two parts
//!
//! A push into the ring neither locks nor allocates. When the ring is full, that is when the loop
//! is behind by a ring's worth, producers *detour* through a locked queue in chunks that grows as
//! needed; the loop takes that queue over as a whole, with one lock for all of it.
//!
//! # Order
//!
//! 1. While the overflow holds anything, every producer detours.
//! 2. The consumer takes the overflow over only when no position of the ring is claimed, as seen
//!    under the overflow's lock, and before that it empties the ring.
//! 3. What it took over it consumes before it looks at the ring again.
//!
//! So each producer's values come out in the order in which they went in. For assume that a thread
//! pushes x and then y. Both through the ring, or both through the overflow: each is FIFO. First x
//! through the ring, then y through the overflow: the claim of x is ordered before the lock for y,
//! so a consumer that finds y under the lock also finds x claimed, and takes x first (2). First x
//! through the overflow, then y through the ring: y went past the detour, which is lifted only by
//! the consumer taking x over, and x is consumed before the ring is looked at (3).
//!
//! # Bound
//!
//! `held` counts what the consumer holds of the same lane: what it took over, and what was
//! submitted on its own thread. The limit is for the sum of ring, overflow and `held`, and it is
//! exact for operations that are ordered. The ring's capacity is less than the limit, so a push has
//! to look at the sum only when it detours anyway, or when `held` is so large that the ring alone
//! could reach the limit: then the consumer orders the detour.
//!
//! # Closing
//!
//! Whether a value is accepted is decided by the claim on the ring, whose word holds the closed bit,
//! or under the overflow's lock, where the closed flag is. `close` sets both; when it returns, no
//! push will be accepted any more, and all that were accepted are counted in `len`.

use std::ptr::NonNull;

use crate::chunk::{ChunkQueue, Cursors};
use crate::handover::Handover;
pub(crate) use crate::ring::Refused;
use crate::ring::Ring;
use crate::sync::{AtomicU32, AtomicUsize, Mutex, Ordering, lock, yield_now};

/// Bit of `detour`: the overflow is not empty. Changed only under the overflow's lock.
const OVERFLOWING: u32 = 1;

/// Bit of `detour`: something is noted about some of what is put in. Never changed.
const OBSERVED: u32 = 4;

/// Bit of `detour`: nothing goes in this way, but through [`Inbox::push_guarded`]. Never changed.
const GUARDED: u32 = 8;

/// The other bits of `detour`, if it is observed: those of a number that is made of an entry's that must be zero for
/// something to be noted about it. Changed only by the consumer.
const MASK: u32 = !(OVERFLOWING | NEAR_LIMIT | OBSERVED | GUARDED);

/// Bit of `detour`: the limit is near, so every push must check it. Changed only by the consumer.
const NEAR_LIMIT: u32 = 2;

/// Whether something is to be noted about the entry with that number.
#[inline]
fn is_noted(detour: u32, number: usize) -> bool {
    // Numbers that are far from regular, so that what is noted is not in step with what is queued.
    let mixed = (number as u32).wrapping_mul(0x9E37_79B9);
    detour & OBSERVED != 0 && mixed & detour & MASK == 0
}

struct Overflow<T> {
    queue: ChunkQueue<T>,
    len: usize,
    closed: bool,
}

/// The part that producers and the consumer share. See the [module documentation](self).
pub(crate) struct Inbox<T> {
    ring: Ring<T>,
    detour: AtomicU32,
    overflow: Mutex<Overflow<T>>,
    limit: usize,
    /// If the consumer holds more than this many entries, the ring alone could reach the limit.
    near: usize,
    /// Entries of this lane that the consumer holds. Written by the consumer only.
    held: AtomicUsize,
    /// How many values ever went into the overflow, and how many of them were taken over.
    overflowed: AtomicUsize,
    taken_over: AtomicUsize,
}

impl<T> Inbox<T> {
    /// Makes an inbox for at most `limit` values, with a ring of at most `2^shift` slots. If it is observed, what
    /// is put in is made differently.
    pub(crate) fn new(limit: usize, shift: u32, is_observed: bool) -> Self {
        debug_assert!(limit > 0);
        // At most half of the limit, so that there is a distance from it at which nobody has to count.
        let ring = Ring::new(shift.min((limit / 2).max(1).ilog2()));
        Self {
            near: limit - ring.capacity(),
            ring,
            detour: AtomicU32::new(if is_observed { OBSERVED } else { 0 }),
            overflow: Mutex::new(Overflow { queue: ChunkQueue::new(), len: 0, closed: false }),
            limit,
            held: AtomicUsize::new(0),
            overflowed: AtomicUsize::new(0),
            taken_over: AtomicUsize::new(0),
        }
    }

    /// Puts in what `make` makes of `input`, or hands `input` back. If something is to be noted about it, `prepare` is
    /// asked first, and if that gives something, `note` makes it with that. None of them must panic.
    #[inline]
    pub(crate) fn push<I, P: Copy>(
        &self,
        input: I,
        make: impl Fn(I) -> T,
        prepare: impl FnOnce() -> Option<P>,
        note: impl Fn(I, P) -> T,
    ) -> Result<(), (Refused, I)> {
        // Acquire: the partner is the consumer's store that lifts the detour; it is not needed for
        // the order of values, but makes a lifted detour imply that its values were taken over.
        let detour = self.detour.load(Ordering::Acquire);
        if detour != 0 {
            if detour & (OVERFLOWING | NEAR_LIMIT | GUARDED) != 0 {
                return self.push_past_ring(detour, input, make, prepare, note);
            }
            // Before a place is claimed: until then nobody waits.
            if is_noted(detour, self.ring.pushed())
                && let Some(prepared) = prepare()
            {
                return self.push_noted(input, move |input| note(input, prepared));
            }
        }
        self.push_quickly(input, make)
    }

    #[inline(never)]
    fn push_noted<I>(&self, input: I, note: impl Fn(I) -> T) -> Result<(), (Refused, I)> {
        self.push_quickly(input, note)
    }

    /// The part of `push` that goes past the ring.
    #[cold]
    fn push_past_ring<I, P: Copy>(
        &self,
        detour: u32,
        input: I,
        make: impl Fn(I) -> T,
        prepare: impl FnOnce() -> Option<P>,
        note: impl Fn(I, P) -> T,
    ) -> Result<(), (Refused, I)> {
        if detour & GUARDED != 0 {
            return Err((Refused::Guarded, input));
        }
        if is_noted(detour, self.pushed())
            && let Some(prepared) = prepare()
        {
            self.push_slowly(input, move |input| note(input, prepared))
        } else {
            self.push_slowly(input, make)
        }
    }

    /// Has everything refused that does not go in by [`push_guarded`](Self::push_guarded).
    pub(crate) fn guarded(self) -> Self {
        self.detour.fetch_or(GUARDED, Ordering::Relaxed);
        self
    }

    /// Puts something in past the ring, or hands it back.
    pub(crate) fn push_guarded<I>(
        &self,
        input: I,
        make: impl FnOnce(I) -> T,
    ) -> Result<(), (Refused, I)> {
        self.push_slowly(input, make)
    }

    /// Whether something is to be noted about what is put in next.
    #[cfg(feature = "metrics")]
    pub(crate) fn notes_next(&self) -> bool {
        is_noted(self.detour.load(Ordering::Relaxed), self.pushed())
    }

    /// Where that is which was put in past the ring, and was not taken over.
    pub(crate) fn sent(&self) -> Cursors {
        lock(&self.overflow).queue.cursors()
    }

    /// Has something noted about one of so many entries, a power of two. For the consumer only.
    #[cfg(feature = "metrics")]
    pub(crate) fn note_one_of(&self, entries: u32) {
        // The upper bits, which depend on all of the number.
        let mask = (entries - 1) << MASK.trailing_zeros().max(16);
        let with_mask = |detour| {
            let new = detour & !MASK | mask;
            (new != detour).then_some(new)
        };
        let _ = self.detour.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with_mask);
    }

    #[inline]
    fn push_quickly<I>(&self, input: I, make: impl Fn(I) -> T) -> Result<(), (Refused, I)> {
        match self.ring.push(input, &make) {
            Err((Refused::Full, input)) => self.push_slowly(input, make),
            done => done,
        }
    }

    #[cold]
    fn push_slowly<I>(&self, input: I, make: impl FnOnce(I) -> T) -> Result<(), (Refused, I)> {
        let mut overflow = lock(&self.overflow);
        if overflow.closed {
            return Err((Refused::Closed, input));
        }
        if self.total(&overflow) >= self.limit {
            return Err((Refused::Full, input));
        }
        overflow.queue.push(make(input));
        overflow.len += 1;
        // For those who look without the lock.
        self.overflowed.fetch_add(1, Ordering::Relaxed);
        if self.detour.load(Ordering::Relaxed) & OVERFLOWING == 0 {
            self.detour.fetch_or(OVERFLOWING, Ordering::Release);
        }
        Ok(())
    }

    fn total(&self, overflow: &Overflow<T>) -> usize {
        self.ring.len() + overflow.len + self.held.load(Ordering::Relaxed)
    }

    /// Everything that waits in this lane, on either side.
    pub(crate) fn len(&self) -> usize {
        self.total(&lock(&self.overflow))
    }

    /// Everything that waits in this lane, by a look that takes no lock: others may put something in meanwhile.
    pub(crate) fn depth(&self) -> usize {
        let taken_over = self.taken_over.load(Ordering::Relaxed);
        let overflow = self.overflowed.load(Ordering::Relaxed).wrapping_sub(taken_over);
        self.ring.len() + overflow + self.held()
    }

    /// How many values other threads ever put in.
    pub(crate) fn pushed(&self) -> usize {
        self.ring.pushed().wrapping_add(self.overflowed.load(Ordering::Relaxed))
    }

    /// What the consumer holds of this lane.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Accepts nothing from now on.
    pub(crate) fn close(&self) {
        // Both under the lock: whoever is refused by the ring is refused by the overflow, too.
        let mut overflow = lock(&self.overflow);
        overflow.closed = true;
        self.ring.close();
    }

    /// Takes out everything that was sent, once the inbox is closed. Waits for pushes that were
    /// accepted and are not complete yet; that takes them a few instructions.
    ///
    /// # Safety
    ///
    /// As for [`Outlet::pop_in_place`], with `outlet` the one of this inbox.
    pub(crate) unsafe fn drain(&self, outlet: &Outlet<T>, mut sink: impl FnMut(T)) {
        while self.ring.len() != 0
            || self.detour.load(Ordering::Acquire) & OVERFLOWING != 0
            || !outlet.taken.is_empty()
        {
            // SAFETY: passed on to the caller.
            match unsafe { outlet.pop(self) } {
                Some(value) => sink(value),
                None => yield_now(),
            }
        }
    }

    /// Takes out everything that was sent, once the inbox is closed, in place of a consumer that never
    /// was: what that holds is its own affair. `sink` is called under a lock.
    ///
    /// # Safety
    ///
    /// Nobody else is or becomes the consumer.
    pub(crate) unsafe fn empty(&self, mut sink: impl FnMut(T)) {
        loop {
            // SAFETY: passed on to the caller.
            while let Some(value) = unsafe { self.ring.pop() } {
                sink(value);
            }
            let mut overflow = lock(&self.overflow);
            if self.ring.len() == 0 {
                while let Some(value) = overflow.queue.pop() {
                    sink(value);
                }
                self.taken_over.fetch_add(overflow.len, Ordering::Relaxed);
                overflow.len = 0;
                self.detour.fetch_and(!OVERFLOWING, Ordering::Release);
                return;
            }
            drop(overflow);
            yield_now();
        }
    }

    /// Whether the consumer would find something here. For the consumer only.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.ring.is_ready() || self.detour.load(Ordering::Acquire) & OVERFLOWING != 0
    }

    /// Whether one more entry that the consumer holds would exceed the limit. For the consumer only.
    #[inline]
    pub(crate) fn is_at_limit(&self) -> bool {
        let held = self.held();
        if held < self.near && self.detour.load(Ordering::Relaxed) & OVERFLOWING == 0 {
            return false;
        }
        held >= self.limit || self.len() >= self.limit
    }

    /// Says that the consumer holds `n` more. For the consumer only.
    #[inline]
    pub(crate) fn add_held(&self, n: usize) {
        let held = self.held() + n;
        self.held.store(held, Ordering::Relaxed);
        if held > self.near {
            self.detour.fetch_or(NEAR_LIMIT, Ordering::Relaxed);
        }
    }

    /// Says that the consumer holds one less. For the consumer only.
    #[inline]
    pub(crate) fn sub_held(&self) {
        let held = self.held() - 1;
        self.held.store(held, Ordering::Relaxed);
        if held == self.near {
            self.detour.fetch_and(!NEAR_LIMIT, Ordering::Relaxed);
        }
    }
}

/// The consumer's part: what it took over from the overflow, and a place for what it took from the ring.
pub(crate) struct Outlet<T> {
    taken: ChunkQueue<T>,
    handover: Handover<T>,
}

impl<T> Outlet<T> {
    pub(crate) const fn new() -> Self {
        Self { taken: ChunkQueue::new(), handover: Handover::new() }
    }

    /// What was taken over from the overflow.
    pub(crate) fn taken(&self) -> &ChunkQueue<T> {
        &self.taken
    }

    /// Gives the next value of `inbox` away, if one is complete, without moving it further than needed.
    /// Whoever gets it must move it, run it or drop it before the next call.
    ///
    /// # Safety
    ///
    /// One thread at a time may be the consumer of `inbox`, successive consumers must be ordered,
    /// and an inbox has one outlet.
    #[inline]
    pub(crate) unsafe fn pop_in_place(&self, inbox: &Inbox<T>) -> Option<NonNull<T>> {
        if let Some(value) = self.taken.pop_in_place() {
            inbox.sub_held();
            return Some(value);
        }
        // SAFETY: passed on to the caller.
        if let Some(value) = unsafe { inbox.ring.pop() } {
            return Some(self.handover.put(value));
        }
        if inbox.detour.load(Ordering::Acquire) & OVERFLOWING == 0 {
            return None;
        }
        // SAFETY: passed on to the caller.
        unsafe { self.take_over(inbox) }
    }

    /// Takes the next value of `inbox`, if one is complete.
    ///
    /// # Safety
    ///
    /// As for `pop_in_place`.
    pub(crate) unsafe fn pop(&self, inbox: &Inbox<T>) -> Option<T> {
        // SAFETY: passed on to the caller.
        let value = unsafe { self.pop_in_place(inbox) }?;
        // SAFETY: the value was given away, and is moved before the next call.
        Some(unsafe { value.read() })
    }

    /// # Safety
    ///
    /// As for `pop_in_place`.
    #[cold]
    unsafe fn take_over(&self, inbox: &Inbox<T>) -> Option<NonNull<T>> {
        {
            let mut overflow = lock(&inbox.overflow);
            if inbox.ring.len() != 0 {
                // A producer claimed a position after the ring was found empty, and may have
                // published it by now. Its value comes first.
                drop(overflow);
                // SAFETY: passed on to the caller.
                let value = unsafe { inbox.ring.pop() };
                if value.is_none() {
                    // Not published yet. The loop cannot sleep while the overflow holds something,
                    // so it makes room for that producer.
                    yield_now();
                }
                return value.map(|value| self.handover.put(value));
            }
            self.taken.swap(&overflow.queue);
            inbox.add_held(overflow.len);
            inbox.taken_over.fetch_add(overflow.len, Ordering::Relaxed);
            overflow.len = 0;
            inbox.detour.fetch_and(!OVERFLOWING, Ordering::Release);
        }
        let value = self.taken.pop_in_place()?;
        inbox.sub_held();
        Some(value)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What is noted about a value is added to it.
    const NOTE: u32 = 1_000_000;

    /// An inbox for eight values, four of them in the ring, and its outlet.
    fn small(is_observed: bool) -> (Inbox<u32>, Outlet<u32>) {
        let inbox = Inbox::new(8, 10, is_observed);
        assert_eq!(inbox.ring.capacity(), 4);
        (inbox, Outlet::new())
    }

    fn push(inbox: &Inbox<u32>, value: u32) -> Result<(), (Refused, u32)> {
        inbox.push(value, |value| value, || Some(NOTE), |value, note| value + note)
    }

    fn pop(inbox: &Inbox<u32>, outlet: &Outlet<u32>) -> Option<u32> {
        // SAFETY: the test's thread is the only one, and it is the outlet of this inbox.
        unsafe { outlet.pop(inbox) }
    }

    // spec: IN-2, F-23
    #[test]
    fn the_limit_is_exact_and_order_kept_on_the_way_through_both_parts() {
        let (inbox, outlet) = small(false);
        for round in 0..3 {
            for value in 0..8 {
                assert!(!inbox.is_at_limit());
                push(&inbox, value).unwrap();
                let sent = value as usize + 1;
                assert_eq!((inbox.len(), inbox.depth()), (sent, sent));
                assert_eq!(inbox.pushed(), round * 11 + sent);
                assert_eq!(inbox.ring.len(), sent.min(4), "the ring first");
            }
            assert!(inbox.is_at_limit());
            assert_eq!(push(&inbox, 8), Err((Refused::Full, 8)));
            // There is room in the ring again, and others wait past it.
            for value in 0..3 {
                assert_eq!(pop(&inbox, &outlet), Some(value));
                push(&inbox, 8 + value).unwrap();
                assert_eq!(inbox.ring.len(), 3 - value as usize);
            }
            for value in 3..11 {
                assert!(inbox.is_ready() || inbox.held() != 0);
                assert_eq!(pop(&inbox, &outlet), Some(value));
                assert_eq!(
                    (inbox.len(), inbox.depth()),
                    (10 - value as usize, 10 - value as usize)
                );
            }
            assert_eq!(pop(&inbox, &outlet), None);
            assert!(!inbox.is_ready());
        }
    }

    // spec: IN-2
    #[test]
    fn what_the_consumer_holds_counts_for_the_limit() {
        for held in 0..=8 {
            let (inbox, _outlet) = small(false);
            inbox.add_held(held);
            assert_eq!(inbox.is_at_limit(), held == 8);
            let accepted = (0..10).take_while(|value| push(&inbox, *value).is_ok()).count();
            assert_eq!(accepted, 8 - held);
            // Who has to count does not go through the ring.
            let quick = if held > 4 { 0 } else { 4 };
            assert_eq!(inbox.ring.len(), quick.min(accepted));
            assert!(inbox.is_at_limit());
        }
        // It holds less again.
        let (inbox, _outlet) = small(false);
        inbox.add_held(6);
        inbox.sub_held();
        inbox.sub_held();
        push(&inbox, 0).unwrap();
        assert_eq!((inbox.ring.len(), inbox.held()), (1, 4));
    }

    // spec: IN-2
    #[test]
    fn a_closed_inbox_refuses_on_both_ways_and_gives_out_what_it_has() {
        for held in [0, 5] {
            let (inbox, outlet) = small(false);
            inbox.add_held(held);
            push(&inbox, 0).unwrap();
            push(&inbox, 1).unwrap();
            inbox.close();
            assert_eq!(push(&inbox, 2), Err((Refused::Closed, 2)));
            let mut values = Vec::new();
            // SAFETY: as in `pop`.
            unsafe { inbox.drain(&outlet, |value| values.push(value)) };
            assert_eq!(values, [0, 1]);
        }
        // Without a consumer.
        let (inbox, _outlet) = small(false);
        (0..7).for_each(|value| push(&inbox, value).unwrap());
        let mut values = Vec::new();
        // SAFETY: the test's thread is the only one.
        unsafe { inbox.empty(|value| values.push(value)) };
        assert_eq!(values, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!((inbox.len(), inbox.depth(), inbox.is_ready()), (0, 0, false));
    }

    #[test]
    fn all_is_noted_of_an_inbox_that_is_observed_and_nothing_of_another() {
        for is_observed in [false, true] {
            let note = if is_observed { NOTE } else { 0 };
            for held in [0, 5] {
                let (inbox, outlet) = small(is_observed);
                inbox.add_held(held);
                for value in 0..8 - held as u32 {
                    push(&inbox, value).unwrap();
                }
                assert_eq!(inbox.ring.len(), if held == 0 { 4 } else { 0 });
                for value in 0..8 - held as u32 {
                    assert_eq!(pop(&inbox, &outlet), Some(value + note));
                }
            }
        }
        // If there is nothing to say.
        let (inbox, outlet) = small(true);
        let nothing = |_, ()| unreachable!("nothing was prepared");
        inbox.push(3, |value| value, || None, nothing).unwrap();
        assert_eq!(pop(&inbox, &outlet), Some(3));
    }

    #[cfg(feature = "metrics")]
    #[test]
    fn something_is_noted_about_one_of_so_many() {
        for held in [0, 5] {
            let (inbox, outlet) = small(true);
            inbox.add_held(held);
            for entries in [1, 2, 16, 1] {
                inbox.note_one_of(entries);
                let mut noted = 0;
                for value in 0..1024 {
                    let is_noted = inbox.notes_next();
                    push(&inbox, value).unwrap();
                    let expected = if is_noted { value + NOTE } else { value };
                    assert_eq!(pop(&inbox, &outlet), Some(expected));
                    noted += u32::from(is_noted);
                }
                let expected = 1024 / entries;
                assert!(noted.abs_diff(expected) <= expected / 8, "{noted} of {expected}");
            }
        }
    }

    #[test]
    fn nothing_goes_into_a_guarded_inbox_but_by_its_own_way() {
        let inbox = small(false).0.guarded();
        assert_eq!(push(&inbox, 1), Err((Refused::Guarded, 1)));
        inbox.push_guarded(2, |value| value).unwrap();
        assert_eq!(push(&inbox, 3), Err((Refused::Guarded, 3)));
        assert_eq!(inbox.len(), 1);
        assert_eq!(pop(&inbox, &Outlet::new()), Some(2));
    }
}

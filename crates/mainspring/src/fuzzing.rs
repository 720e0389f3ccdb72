//! Private parts, for the fuzz targets in `fuzz/`: their own methods, no more, on one thread.

use crate::chunk::ChunkQueue;
use crate::inbox;
use crate::ring;
use crate::timer::{Directory, Slots, Store};

/// Why a value came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no room.
    Full,
    /// Nothing is accepted any more.
    Closed,
    /// It has to be put in past the ring.
    Guarded,
}

/// What an operation said, with a reason that others can name.
fn told<T>(result: Result<(), (ring::Refused, T)>) -> Result<(), (Refused, T)> {
    result.map_err(|(refused, value)| match refused {
        ring::Refused::Full => (Refused::Full, value),
        ring::Refused::Closed => (Refused::Closed, value),
        ring::Refused::Guarded => (Refused::Guarded, value),
    })
}

/// The ring of `ring.rs`, with its only producer and consumer.
pub struct Ring<T>(ring::Ring<T>);

impl<T> Ring<T> {
    /// One of `2^shift` slots, so many laps before its positions wrap.
    pub fn new(shift: u32, laps: usize) -> Self {
        let wrap = usize::MAX / 2 + 1;
        Self(ring::Ring::starting_at(shift, wrap - (laps << shift)))
    }

    /// Puts a value in.
    pub fn push(&mut self, value: T) -> Result<(), (Refused, T)> {
        told(self.0.push(value, |value| value))
    }

    /// Takes the oldest one out.
    pub fn pop(&mut self) -> Option<T> {
        // SAFETY: `&mut self`: there is no other consumer, and whoever was one before is ordered.
        unsafe { self.0.pop() }
    }

    /// How many are in.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether one can be taken out.
    pub fn is_ready(&self) -> bool {
        self.0.is_ready()
    }

    /// Refuses what comes.
    pub fn close(&mut self) {
        self.0.close();
    }
}

/// The queue of `chunk.rs`.
pub struct Chunks<T>(ChunkQueue<T>);

impl<T> Chunks<T> {
    /// An empty one.
    pub fn new() -> Self {
        Self(ChunkQueue::new())
    }

    /// Puts a value in.
    pub fn push(&mut self, value: T) {
        self.0.push(value);
    }

    /// Takes the oldest one out.
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }

    /// Exchanges all of them.
    pub fn swap(&mut self, other: &mut Self) {
        self.0.swap(&other.0);
    }

    /// How many are in.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is in.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many chunks it has, used and spare ones.
    pub fn allocated(&self) -> usize {
        self.0.allocated()
    }

    /// What is wrong with it.
    pub fn defect(&self) -> Option<&'static str> {
        self.0.cursors().defect()
    }
}

/// The inbox of `inbox.rs`, with its outlet.
pub struct Inbox<T> {
    inbox: inbox::Inbox<T>,
    outlet: inbox::Outlet<T>,
}

impl<T> Inbox<T> {
    /// One for at most `limit` values, with a ring of at most `2^shift` slots.
    pub fn new(limit: usize, shift: u32, is_observed: bool, is_guarded: bool) -> Self {
        let inbox = inbox::Inbox::new(limit, shift, is_observed);
        let inbox = if is_guarded { inbox.guarded() } else { inbox };
        Self { inbox, outlet: inbox::Outlet::new() }
    }

    /// Puts a value in.
    pub fn push(&mut self, value: T) -> Result<(), (Refused, T)> {
        told(self.inbox.push(value, |value| value, || Some(()), |value, ()| value))
    }

    /// Puts a value in past the ring.
    pub fn push_guarded(&mut self, value: T) -> Result<(), (Refused, T)> {
        told(self.inbox.push_guarded(value, |value| value))
    }

    /// Takes the next one out.
    pub fn pop(&mut self) -> Option<T> {
        // SAFETY: `&mut self`: there is no other consumer, and the outlet is that of this inbox.
        unsafe { self.outlet.pop(&self.inbox) }
    }

    /// Takes all out that were put in.
    pub fn drain(&mut self, sink: impl FnMut(T)) {
        // SAFETY: as for `pop`.
        unsafe { self.inbox.drain(&self.outlet, sink) };
    }

    /// How many there are, with what the consumer holds, by a look under the lock and by one without it.
    pub fn lens(&self) -> (usize, usize) {
        (self.inbox.len(), self.inbox.depth())
    }

    /// How many were ever accepted.
    pub fn pushed(&self) -> usize {
        self.inbox.pushed()
    }

    /// Whether the ring or the overflow has something; then what was taken over is used up first.
    pub fn is_ready(&self) -> bool {
        self.inbox.is_ready() || !self.outlet.taken().is_empty()
    }

    /// Whether one more that the consumer holds would be too many.
    pub fn is_at_limit(&self) -> bool {
        self.inbox.is_at_limit()
    }

    /// The consumer holds one more.
    pub fn add_held(&mut self) {
        self.inbox.add_held(1);
    }

    /// The consumer holds one less.
    pub fn sub_held(&mut self) {
        self.inbox.sub_held();
    }

    /// Has something noted about one of so many, a power of two.
    #[cfg(feature = "metrics")]
    pub fn note_one_of(&mut self, entries: u32) {
        self.inbox.note_one_of(entries);
    }

    /// Refuses what comes.
    pub fn close(&mut self) {
        self.inbox.close();
    }
}

/// The store of `timer/store.rs`, with the slots of its timers.
pub struct Timers {
    directory: Directory,
    slots: Slots,
    store: Store,
}

impl Timers {
    /// An empty one, at a time.
    pub fn new(now: i64) -> Self {
        Self { directory: Directory::new(), slots: Slots::new(), store: Store::new(now) }
    }

    /// Adds a timer. Says which slot it has.
    pub fn insert(&mut self, deadline: i64) -> u32 {
        let index = self.slots.take(&self.directory).ok().expect("slots are left");
        self.store.insert(&self.slots, index, deadline);
        index
    }

    /// Takes a timer out that is in.
    pub fn remove(&mut self, index: u32) {
        let page = self.slots.page_of(index);
        self.store.remove(&self.slots, page, index);
        self.slots.give_back(index, &self.directory);
    }

    /// Gives a timer that is in another deadline.
    pub fn rearm(&mut self, index: u32, deadline: i64) {
        let page = self.slots.page_of(index);
        self.store.remove(&self.slots, page, index);
        self.store.insert(&self.slots, index, deadline);
    }

    /// Begins a phase.
    pub fn begin(&mut self, now: i64) {
        self.store.begin(&self.slots, now);
    }

    /// The next timer of the phase.
    pub fn pop_due(&mut self, now: i64) -> Option<u32> {
        let (key, _) = self.store.pop_due(&self.slots, now)?;
        self.slots.give_back(key.index, &self.directory);
        Some(key.index)
    }

    /// The earliest deadline.
    pub fn next(&mut self) -> Option<i64> {
        self.store.next(&self.slots)
    }
}

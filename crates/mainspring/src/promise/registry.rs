//! The list of pending promises that something outside the loop can settle.
//!
//! It has them weakly: it keeps none of them alive. What it is for is the end of the loop, when each one that
//! is still pending is rejected.
//!
//! A promise that settles on the loop's thread leaves the list at once. Others, and those that were dropped,
//! are found by a cursor that goes round: each tick it looks at some entries, more of them if many promises
//! were made lately. When it has been everywhere and finds that most of the table is empty, the table is
//! replaced by a smaller one, so that a burst does not cost memory for ever.
//!
//! Promises that were made on other threads, or before the loop was driven, wait in a list of *newcomers*, which
//! any thread can put something into, until the loop's thread takes them over.

use std::cell::{Cell, RefCell};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use super::mode::{LoopBound, Mode, Shareable};
use super::node::{Header, UNLISTED};
use super::reference::{Ref, Weak};
use crate::safety::Safety;
use crate::shared::Shared;
use crate::sync::{AtomicPtr, AtomicUsize, Ordering};

/// Entries that each tick looks at.
const BATCH: usize = 20;

/// Entries that one tick looks at, at the most, because of new promises.
const BURST: usize = 1024;

/// Newcomers that one tick takes over, at the most. As long as there are more, the loop does not sleep.
const ARRIVALS: usize = 4096;

/// So many newcomers are worth waking the loop for, so that it forgets those that have settled.
const CROWD: usize = 16_384;

/// A table of this size or less is kept.
const KEEP: usize = 256;

/// An entry of the table.
pub(crate) enum Listed {
    /// Nothing, and the next slot that is free.
    Free(u32),
    LoopBound(Weak<LoopBound>),
    Shareable(Weak<Shareable>),
}

impl Listed {
    fn is_done(&self) -> bool {
        match self {
            Self::Free(_) => false,
            Self::LoopBound(weak) => weak.is_done(),
            Self::Shareable(weak) => weak.is_done(),
        }
    }

    fn set_slot(&self, slot: u32) {
        match self {
            Self::Free(_) => {}
            Self::LoopBound(weak) => weak.set_slot(slot),
            Self::Shareable(weak) => weak.set_slot(slot),
        }
    }

    /// Rejects it if it is pending.
    fn end(self) {
        match self {
            Self::Free(_) => {}
            Self::LoopBound(weak) => {
                if let Some(promise) = weak.upgrade() {
                    promise.end();
                }
            }
            Self::Shareable(weak) => end(&weak),
        }
    }
}

fn end(weak: &Weak<Shareable>) {
    if let Some(promise) = weak.upgrade() {
        promise.end();
    }
}

/// The table, for the loop's thread.
pub(crate) struct Registry {
    table: RefCell<Table>,
    /// Whether there is nothing to look at.
    is_empty: Cell<bool>,
    has_arrivals: Cell<bool>,
    /// Who is asked, in the maximum-safety profile.
    safety: Option<Arc<Safety>>,
}

struct Table {
    slots: Vec<Listed>,
    /// The slot that was freed last.
    free: u32,
    /// Slots that are not free.
    taken: usize,
    /// What is looked at next.
    cursor: usize,
    /// How many entries have to be looked at because of new ones.
    debt: usize,
    /// Newcomers that were taken over, and are not in the table yet.
    arrivals: Chain,
}

impl Registry {
    pub(crate) fn new(safety: Option<Arc<Safety>>) -> Self {
        Self {
            table: RefCell::new(Table::new()),
            is_empty: Cell::new(true),
            has_arrivals: Cell::new(false),
            safety,
        }
    }

    #[inline]
    pub(super) fn insert<M: Mode>(&self, promise: &Ref<M>) -> bool {
        if let Some(safety) = &self.safety {
            safety.list(promise.is_listed(), promise.id());
            safety.count_promises(1);
        }
        promise.set_listed();
        let slot = self.table.borrow_mut().insert(M::list(promise.downgrade()));
        promise.set_slot(slot);
        self.is_empty.set(false);
        true
    }

    /// Takes a promise out, if it is there.
    #[inline(always)]
    pub(super) fn remove<M: Mode>(&self, promise: &Ref<M>) {
        if promise.is_listed() {
            self.remove_listed(promise);
        }
    }

    #[inline(never)]
    fn remove_listed<M: Mode>(&self, promise: &Ref<M>) {
        if promise.slot() != UNLISTED {
            self.table.borrow_mut().remove(promise.slot());
            promise.set_slot(UNLISTED);
            if let Some(safety) = &self.safety {
                safety.count_promises(-1);
            }
        }
    }

    /// Takes newcomers over, and looks at some entries.
    #[inline]
    pub(crate) fn scavenge(&self, newcomers: &Newcomers) {
        if !self.is_empty.get() || !newcomers.is_empty() {
            let mut table = self.table.borrow_mut();
            let before = table.taken;
            table.scavenge(newcomers);
            if let Some(safety) = &self.safety {
                safety.count_promises(table.taken as isize - before as isize);
            }
            let has_arrivals = !table.arrivals.0.is_null();
            self.has_arrivals.set(has_arrivals);
            self.is_empty.set(table.taken == 0 && table.slots.len() <= KEEP && !has_arrivals);
        }
    }

    /// Whether newcomers wait to be put into the table.
    #[inline]
    pub(crate) fn has_arrivals(&self) -> bool {
        self.has_arrivals.get()
    }

    /// Rejects all that is pending: the loop has ended.
    pub(crate) fn end(&self, newcomers: &Newcomers) {
        newcomers.end();
        let table = std::mem::replace(&mut *self.table.borrow_mut(), Table::new());
        if let Some(safety) = &self.safety {
            let listed = table.slots.iter().filter(|entry| !matches!(entry, Listed::Free(_)));
            safety.count_promises(-(listed.count() as isize));
        }
        // First all, because one that ends may make another one settle.
        table.slots.iter().for_each(|entry| entry.set_slot(UNLISTED));
        table.arrivals.for_each(|weak| end(&weak));
        table.slots.into_iter().for_each(Listed::end);
    }
}

impl Table {
    fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: UNLISTED,
            taken: 0,
            cursor: 0,
            debt: 0,
            arrivals: Chain(null_mut()),
        }
    }

    #[inline]
    fn insert(&mut self, entry: Listed) -> u32 {
        self.taken += 1;
        self.debt += 1;
        if let Some(place) = self.slots.get_mut(self.free as usize) {
            let slot = self.free;
            if let Listed::Free(next) = std::mem::replace(place, entry) {
                self.free = next;
            }
            return slot;
        }
        let slot = self.slots.len() as u32;
        self.slots.push(entry);
        slot
    }

    /// Takes an entry out. Only the memory of the promise may be freed by this.
    #[inline]
    fn remove(&mut self, slot: u32) {
        self.taken -= 1;
        self.slots[slot as usize] = Listed::Free(self.free);
        self.free = slot;
    }

    fn scavenge(&mut self, newcomers: &Newcomers) {
        if self.arrivals.0.is_null() {
            self.arrivals = newcomers.take();
        }
        self.settle_in();
        if self.arrivals.0.is_null() {
            // Those that came meanwhile may have woken the loop, and will not do so again.
            self.arrivals = newcomers.take();
        }
        let paid = self.debt.min(BURST);
        self.debt -= paid;
        for _ in 0..BATCH + paid {
            if self.cursor >= self.slots.len() {
                self.renew();
                break;
            }
            let entry = &self.slots[self.cursor];
            if entry.is_done() {
                entry.set_slot(UNLISTED);
                self.remove(self.cursor as u32);
            }
            self.cursor += 1;
        }
    }

    /// Puts newcomers into the table, unless they have settled meanwhile.
    fn settle_in(&mut self) {
        for _ in 0..ARRIVALS {
            let Some(weak) = self.arrivals.next() else { return };
            if !weak.is_done() {
                let slot = self.insert(Listed::Shareable(weak));
                self.slots[slot as usize].set_slot(slot);
            }
        }
    }

    /// A cycle is complete: a table that is much too large is replaced.
    fn renew(&mut self) {
        self.cursor = 0;
        if self.slots.capacity() > KEEP && self.taken < self.slots.capacity() / 4 {
            let old = std::mem::replace(&mut self.slots, Vec::with_capacity(self.taken * 2));
            self.free = UNLISTED;
            for entry in old {
                if !matches!(entry, Listed::Free(_)) {
                    entry.set_slot(self.slots.len() as u32);
                    self.slots.push(entry);
                }
            }
        }
    }
}

/// Promises that the loop's thread does not know yet. Any thread adds to it, the loop's thread takes all.
pub(crate) struct Newcomers {
    last: AtomicPtr<Header<Shareable>>,
    /// About how many there are.
    count: AtomicUsize,
}

/// In place of a promise: the loop has ended.
fn closed() -> *mut Header<Shareable> {
    null_mut::<Header<Shareable>>().with_addr(1)
}

impl Newcomers {
    pub(crate) fn new() -> Self {
        Self { last: AtomicPtr::new(null_mut()), count: AtomicUsize::new(0) }
    }

    /// Adds a promise, unless the loop has ended.
    pub(super) fn push(&self, promise: &Ref<Shareable>, shared: &Shared) -> bool {
        if let Some(safety) = &shared.safety {
            safety.list(promise.is_listed(), promise.id());
        }
        promise.set_listed();
        let weak = promise.downgrade();
        let mut last = self.last.load(Ordering::Relaxed);
        let pointer = weak.as_ptr();
        while last != closed() {
            weak.set_next(last);
            // Release: the link, and what was written to the promise, goes with it.
            match self.last.compare_exchange_weak(
                last,
                pointer,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    // The list has the reference now.
                    std::mem::forget(weak);
                    if self.count.fetch_add(1, Ordering::Relaxed) % CROWD == CROWD - 1 {
                        shared.wake();
                    }
                    return true;
                }
                Err(other) => last = other,
            }
        }
        false
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.last.load(Ordering::Relaxed).is_null()
    }

    fn take(&self) -> Chain {
        if self.is_empty() {
            return Chain(null_mut());
        }
        self.count.store(0, Ordering::Relaxed);
        // Acquire: the partner of the Release in `push`.
        Chain(self.last.swap(null_mut(), Ordering::Acquire))
    }

    /// Accepts nothing from now on, and rejects all that is here and pending.
    pub(crate) fn end(&self) {
        let last = self.last.swap(closed(), Ordering::Acquire);
        if last != closed() {
            Chain(last).for_each(|weak| end(&weak));
        }
    }
}

impl Drop for Newcomers {
    fn drop(&mut self) {
        self.end();
    }
}

/// Newcomers that were taken, linked with each other. It has a weak reference to each.
struct Chain(*mut Header<Shareable>);

// SAFETY: it is a list of weak references, which can be sent.
unsafe impl Send for Chain {}

impl Iterator for Chain {
    type Item = Weak<Shareable>;

    fn next(&mut self) -> Option<Weak<Shareable>> {
        let pointer = NonNull::new(self.0)?;
        // SAFETY: the list was taken, with the references that it has.
        let weak = unsafe { Weak::from_raw(pointer) };
        self.0 = weak.next();
        Some(weak)
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{EventLoop, LocalPromise, LocalResolver, Promise, Resolver};

    /// A loop that has been driven, so that promises made on its thread go into the table.
    fn driven() -> EventLoop {
        let event_loop = EventLoop::new().unwrap();
        event_loop.turn(Duration::ZERO).unwrap();
        event_loop
    }

    fn with_table<T>(event_loop: &EventLoop, f: impl FnOnce(&mut Table) -> T) -> T {
        f(&mut event_loop.cx().0.registry.table.borrow_mut())
    }

    fn taken(event_loop: &EventLoop) -> usize {
        with_table(event_loop, |table| table.taken)
    }

    fn tick(event_loop: &EventLoop) {
        event_loop.turn(Duration::ZERO).unwrap();
    }

    /// Listed promises, with nothing left to be looked at because they are new.
    fn listed(event_loop: &EventLoop, n: usize) -> Vec<(Promise<u8>, Resolver<u8>)> {
        let promises: Vec<_> =
            (0..n).map(|_| Promise::with_resolvers(&event_loop.handle())).collect();
        with_table(event_loop, |table| {
            table.debt = 0;
            table.cursor = 0;
        });
        assert_eq!(taken(event_loop), n);
        promises
    }

    fn elsewhere(f: impl FnOnce() + Send) {
        std::thread::scope(|scope| scope.spawn(f).join().unwrap());
    }

    // spec: RG-1, RG-2, D13, D15
    #[test]
    fn each_tick_looks_at_twenty_entries_and_a_cycle_at_each_entry_once() {
        for keep in [true, false] {
            let event_loop = driven();
            let mut promises = listed(&event_loop, 200);
            // Every other one is done, on another thread, which does not touch the table.
            let done: Vec<_> = (0..100).map(|i| promises.remove(i)).collect();
            elsewhere(|| done.iter().for_each(|(_, resolver)| assert!(resolver.resolve(7))));
            let _kept = keep.then_some(done);
            assert_eq!(taken(&event_loop), 200);
            for ticks in 1..=10 {
                tick(&event_loop);
                assert_eq!(taken(&event_loop), 200 - 10 * ticks);
                assert_eq!(with_table(&event_loop, |table| table.cursor), 20 * ticks);
            }
            for _ in 0..30 {
                tick(&event_loop);
            }
            assert_eq!(taken(&event_loop), 100, "those that are pending stay");
        }
    }

    // spec: RG-2
    #[test]
    fn new_promises_are_looked_at_beside_the_twenty() {
        let event_loop = driven();
        let promises = listed(&event_loop, 200);
        with_table(&event_loop, |table| table.debt = 150);
        elsewhere(|| promises.iter().for_each(|(_, resolver)| assert!(resolver.resolve(7))));
        tick(&event_loop);
        assert_eq!(taken(&event_loop), 30);
    }

    // spec: RG-1
    #[test]
    fn what_settles_on_the_loops_thread_leaves_at_once() {
        let event_loop = driven();
        let (_promise, resolver) = LocalPromise::with_resolvers(event_loop.cx());
        let (_other, other_resolver) = Promise::with_resolvers(&event_loop.handle());
        assert_eq!(taken(&event_loop), 2);
        resolver.resolve(1);
        assert_eq!(taken(&event_loop), 1);
        drop::<Resolver<u8>>(other_resolver);
        assert_eq!(taken(&event_loop), 0);
    }

    // spec: RG-3, D11, D20, F-16
    #[test]
    fn the_table_is_renewed_after_a_cycle_that_leaves_it_below_a_quarter() {
        let pending = |event_loop: &EventLoop, n: usize| -> Vec<(_, LocalResolver<u8>)> {
            (0..n).map(|_| LocalPromise::with_resolvers(event_loop.cx())).collect()
        };
        let cycle = |event_loop: &EventLoop| {
            with_table(event_loop, |table| {
                table.cursor = table.slots.len() - 1;
                table.debt = 0;
            });
            tick(event_loop);
            with_table(event_loop, |table| table.slots.capacity())
        };
        let event_loop = driven();
        let mut promises = pending(&event_loop, 1024);
        promises.truncate(256);
        assert!(cycle(&event_loop) >= 1024, "a quarter is not below a quarter");
        promises.truncate(255);
        assert!((255..=512).contains(&cycle(&event_loop)), "renewed");
        assert_eq!(taken(&event_loop), 255);
        // They are where the table has them now.
        promises.truncate(1);
        assert_eq!(taken(&event_loop), 1);
        let event_loop = driven();
        let mut promises = pending(&event_loop, 256);
        promises.clear();
        assert!(cycle(&event_loop) >= 256, "a small table is kept");
    }

    // spec: RG-1
    #[test]
    fn newcomers_are_taken_over_by_a_tick_unless_they_are_done() {
        let event_loop = driven();
        let handle = event_loop.handle();
        let kept = std::thread::spawn(move || {
            let kept = Promise::<u8>::with_resolvers(&handle);
            for _ in 0..10 {
                drop(Promise::<u8>::with_resolvers(&handle));
            }
            kept
        });
        let kept = kept.join().unwrap();
        assert_eq!(taken(&event_loop), 0);
        tick(&event_loop);
        assert_eq!(taken(&event_loop), 1);
        drop(kept);
        assert_eq!(taken(&event_loop), 0);
    }

    // spec: RG-4
    #[test]
    fn the_end_rejects_what_is_in_the_table_and_what_is_new() {
        let event_loop = driven();
        let handle = event_loop.handle();
        let here = Promise::<u8>::with_resolvers(&handle);
        let there = std::thread::spawn(move || Promise::<u8>::with_resolvers(&handle));
        let there = there.join().unwrap();
        drop(event_loop);
        for (promise, resolver) in [here, there] {
            let reason = promise.wait(Duration::ZERO).unwrap_err().to_string();
            assert!(reason.contains("terminated"), "{reason}");
            assert!(!resolver.resolve(1));
        }
    }
}

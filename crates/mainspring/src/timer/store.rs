//! All timers of a loop that wait for their time, in the order (deadline, insertion).
//!
//! Far ones are on the [wheel](super::wheel), where adding and removing take constant time, however many
//! there are; near ones, those of the present granule, are in [exact order](super::near). When the clock
//! enters a granule, its timers move from the one to the other, and are sorted by that.

use crate::timer::near::{Key, Near};
use crate::timer::page::Page;
use crate::timer::slots::Slots;
use crate::timer::wheel::{NEAR, UNLINKED, Wheel, granule};

/// Timers that are moved ahead of their time in each phase, for each level.
const BUDGET: usize = 256;

/// See the [module documentation](self). Which slots exist is for the caller to know.
pub(crate) struct Store {
    wheel: Wheel,
    near: Near,
    sequence: u64,
}

impl Store {
    /// An empty one, at a time.
    pub(crate) const fn new(now: i64) -> Self {
        Self { wheel: Wheel::new(granule(now)), near: Near::new(), sequence: 0 }
    }

    /// Adds the timer of a slot. It does not come out before the next phase.
    #[inline]
    pub(crate) fn insert(&mut self, slots: &Slots, index: u32, deadline: i64) {
        self.sequence += 1;
        let page = slots.page_of(index);
        page.slot(index).sequence.set(self.sequence);
        let node = page.node(index);
        node.deadline.set(deadline);
        if granule(deadline) > self.wheel.present() {
            self.wheel.insert(slots, node, index, deadline);
        } else {
            node.prev.set(NEAR);
            self.near.insert(Key { deadline, sequence: self.sequence, index });
        }
    }

    /// Takes a timer out, if it is in.
    #[inline]
    pub(crate) fn remove(&mut self, slots: &Slots, page: &Page, index: u32) {
        page.slot(index).sequence.set(0);
        let node = page.node(index);
        match node.prev.get() {
            UNLINKED => {}
            NEAR => {
                node.prev.set(UNLINKED);
                self.near.forget_one(slots);
            }
            _ => self.wheel.remove(slots, node),
        }
    }

    /// Begins a phase: from now on until the next one, [`Store::pop_due`] gives out what is due at `now`, of
    /// the timers that are here already.
    #[inline]
    pub(crate) fn begin(&mut self, slots: &Slots, now: i64) {
        let Self { wheel, near, .. } = self;
        if near.is_empty() && wheel.is_empty() {
            return wheel.pass(granule(now));
        }
        near.begin();
        let sorted = near.queued();
        wheel.advance(slots, granule(now), |index| {
            let page = slots.page_of(index);
            let node = page.node(index);
            node.prev.set(NEAR);
            let sequence = page.slot(index).sequence.get();
            near.ripen(Key { deadline: node.deadline.get(), sequence, index });
        });
        near.sort(sorted);
        wheel.prepare(slots, BUDGET);
    }

    /// Takes the next timer out that is due in this phase.
    #[inline(always)]
    pub(crate) fn pop_due<'a>(&mut self, slots: &'a Slots, now: i64) -> Option<(Key, &'a Page)> {
        let key = self.near.pop_due(slots, now)?;
        let page = slots.page_of(key.index);
        page.slot(key.index).sequence.set(0);
        page.node(key.index).prev.set(UNLINKED);
        Some((key, page))
    }

    /// The earliest deadline. Never a later one; a timer that was removed may count for a while, if there
    /// are very many around it.
    #[inline]
    pub(crate) fn next(&mut self, slots: &Slots) -> Option<i64> {
        let near = if self.near.is_empty() { None } else { self.near.next(slots) };
        near.or_else(|| self.wheel.next(slots))
    }

    /// Whether nothing is left that could be due in this phase.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.near.is_empty()
    }

    /// Forgets all timers.
    pub(crate) fn clear(&mut self) {
        self.near.clear();
        self.wheel = Wheel::new(self.wheel.present());
    }
}

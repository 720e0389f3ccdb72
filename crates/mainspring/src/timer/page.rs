//! Where timers are kept: pages of slots, which stay where they are and are found by index.
//!
//! # Layout
//!
//! | part | bytes | holds | read when |
//! |---|---|---|---|
//! | [`Node`] | 16 | deadline, and the links of the bucket that it is in | neighbours come and go; buckets are emptied |
//! | [`TimerSlot`] | 64 | the claim, the sequence number, the callback | a timer is set, cleared or fired |
//!
//! The cost of a store with a million timers is cache misses, so what is visited on behalf of *other*
//! timers is kept apart and small, and the rest of a timer is one cache line.
//!
//! # Who may touch what
//!
//! 1. The claim of a slot: every thread, by the rules of [`Claim`].
//! 2. Everything else of a page: the loop's thread only.
//! 3. A page is made by any thread, and added to and removed from the directory under its lock: by the loop's
//!    thread when none of its slots is used, or all pages together at the end.
//! 4. A slot holds a callback only while the loop's thread has a reference of its own to the page, and that
//!    thread takes all callbacks out before it gives the reference up.

use std::cell::Cell;
use std::sync::Arc;

use crate::sync::{RwLock, read, write};
use crate::task::TimerTask;
use crate::timer::claim::Claim;
use crate::timer::id::{GENERATIONS, INDEX_BITS, TimerId};

/// Slots in a page.
pub(crate) const PAGE: u32 = if cfg!(loom) { 2 } else { 256 };

/// No slot, or no page.
pub(crate) const NONE: u32 = u32::MAX;

/// The part of a timer that is visited on behalf of others.
pub(crate) struct Node {
    /// See [`crate::timer::wheel`].
    pub(crate) prev: Cell<u32>,
    /// Likewise; in a free slot, the next free slot of the page.
    pub(crate) next: Cell<u32>,
    pub(crate) deadline: Cell<i64>,
}

/// The rest of a timer.
#[cfg_attr(not(loom), repr(align(64)))]
pub(crate) struct TimerSlot {
    pub(crate) claim: Claim,
    /// Which of all insertions this was; 0 while it is in none of the queues.
    pub(crate) sequence: Cell<u64>,
    pub(crate) task: Cell<Option<TimerTask>>,
}

/// A page, and the loop's book-keeping about it.
pub(crate) struct Page {
    slots: [TimerSlot; PAGE as usize],
    nodes: [Node; PAGE as usize],
    /// The first free slot, within the page.
    pub(crate) free: Cell<u32>,
    /// Slots that are not free.
    pub(crate) used: Cell<u32>,
    /// Neighbours in the list of pages that have free slots.
    pub(crate) prev_open: Cell<u32>,
    pub(crate) next_open: Cell<u32>,
}

// SAFETY: whichever thread drops a page drops no callback with it: the loop's thread has taken them out
// before it gave up its reference (rule 4; `Timers::end`, at the latest when the loop is dropped). The rest is
// numbers.
unsafe impl Send for Page {}
// SAFETY: threads other than the loop's touch nothing but claims (rules 1 and 2), which are atomics.
unsafe impl Sync for Page {}

impl Page {
    /// A page whose slots are all free but in no list.
    fn new(generation: u32) -> Arc<Self> {
        let mut page = Arc::<Self>::new_uninit();
        let place = Arc::get_mut(&mut page).map_or(std::ptr::null_mut(), |page| page.as_mut_ptr());
        assert!(!place.is_null(), "nobody else has it yet");
        // In its place, because it is too large to be copied there.
        // SAFETY: `place` is memory for a page that nobody else has. Every field is written once, and read
        // by nobody before that.
        unsafe {
            for index in 0..PAGE as usize {
                (&raw mut (*place).slots[index]).write(TimerSlot {
                    claim: Claim::new(generation),
                    sequence: Cell::new(0),
                    task: Cell::new(None),
                });
                (&raw mut (*place).nodes[index]).write(Node {
                    prev: Cell::new(NONE),
                    next: Cell::new(NONE),
                    deadline: Cell::new(0),
                });
            }
            (&raw mut (*place).free).write(Cell::new(NONE));
            (&raw mut (*place).used).write(Cell::new(PAGE));
            (&raw mut (*place).prev_open).write(Cell::new(NONE));
            (&raw mut (*place).next_open).write(Cell::new(NONE));
            page.assume_init()
        }
    }

    #[inline]
    pub(crate) fn node(&self, index: u32) -> &Node {
        &self.nodes[(index % PAGE) as usize]
    }

    #[inline]
    pub(crate) fn slot(&self, index: u32) -> &TimerSlot {
        &self.slots[(index % PAGE) as usize]
    }

    #[inline]
    pub(crate) fn claim(&self, index: u32) -> &Claim {
        &self.slot(index).claim
    }

    /// A generation that no slot of this page has seen.
    fn next_generation(&self) -> u32 {
        self.slots.iter().map(|slot| slot.claim.generation()).max().unwrap_or(0)
    }
}

/// A place in the directory.
enum Entry {
    Page(Arc<Page>),
    /// The page is gone. One that takes its place begins with this generation.
    Vacant(u32),
}

#[derive(Default)]
struct Entries {
    entries: Vec<Entry>,
    vacant: Vec<u32>,
    /// Whether no page is added any more.
    closed: bool,
}

/// Why no page was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unadded {
    /// All ids have been used.
    Exhausted,
    /// The loop is at its end.
    Closed,
}

/// All pages, for every thread.
pub(crate) struct Directory {
    entries: RwLock<Entries>,
    /// How many there may be.
    max: u32,
}

impl Directory {
    pub(crate) fn new() -> Self {
        Self { entries: RwLock::new(Entries::default()), max: (1 << INDEX_BITS) / PAGE }
    }

    /// One that has used up its ids after so many pages.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn with_max(max: u32) -> Self {
        Self { max, ..Self::new() }
    }

    /// Adds a page, all slots of which are the caller's.
    pub(crate) fn add(&self) -> Result<(u32, Arc<Page>), Unadded> {
        let mut guard = write(&self.entries);
        let Entries { entries, vacant, closed } = &mut *guard;
        if *closed {
            return Err(Unadded::Closed);
        }
        if let Some(number) = vacant.pop() {
            let entry = &mut entries[number as usize];
            let Entry::Vacant(generation) = *entry else { unreachable!("a vacant place") };
            let page = Page::new(generation);
            *entry = Entry::Page(Arc::clone(&page));
            return Ok((number, page));
        }
        let number = u32::try_from(entries.len()).ok().filter(|number| *number < self.max);
        let number = number.ok_or(Unadded::Exhausted)?;
        let page = Page::new(0);
        entries.push(Entry::Page(Arc::clone(&page)));
        Ok((number, page))
    }

    pub(crate) fn get(&self, number: u32) -> Option<Arc<Page>> {
        let entries = read(&self.entries);
        match entries.entries.get(number as usize)? {
            Entry::Page(page) => Some(Arc::clone(page)),
            Entry::Vacant(_) => None,
        }
    }

    /// Removes a page. Its slots are all free.
    pub(crate) fn remove(&self, number: u32) {
        let mut entries = write(&self.entries);
        let Some(entry) = entries.entries.get_mut(number as usize) else { return };
        let Entry::Page(page) = &*entry else { return };
        let generation = page.next_generation();
        let gone = std::mem::replace(entry, Entry::Vacant(generation));
        if generation < GENERATIONS {
            entries.vacant.push(number);
        }
        drop(entries);
        drop(gone);
    }

    /// Removes all pages, for good. What the loop still knows of them is its own affair.
    pub(crate) fn close(&self) {
        let mut entries = write(&self.entries);
        let gone = std::mem::replace(&mut *entries, Entries { closed: true, ..Entries::default() });
        drop(entries);
        drop(gone);
    }

    /// Applies a transition to the claim of a timer, from any thread.
    pub(crate) fn with_claim<R>(&self, id: TimerId, f: impl FnOnce(&Claim) -> R) -> Option<R> {
        let entries = read(&self.entries);
        match entries.entries.get((id.index() / PAGE) as usize)? {
            Entry::Page(page) => Some(f(page.claim(id.index()))),
            Entry::Vacant(_) => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_timer_takes_80_bytes() {
        if cfg!(target_pointer_width = "64") {
            assert_eq!(size_of::<Node>(), 16);
            assert_eq!(size_of::<TimerSlot>(), 64);
        }
    }

    // spec: TM-6, TM-8
    #[test]
    fn a_page_that_comes_back_knows_no_old_ids() {
        let directory = Directory::with_max(1);
        let (number, page) = directory.add().unwrap();
        assert_eq!(directory.add().err(), Some(Unadded::Exhausted));
        for _ in 0..3 {
            page.claim(5).arm(crate::timer::claim::Kind::Timeout);
            page.claim(5).abandon();
        }
        directory.remove(number);
        assert!(directory.get(number).is_none());
        let (_, page) = directory.add().unwrap();
        assert!((0..PAGE).all(|index| page.claim(index).generation() == 3));
        directory.close();
        assert_eq!(directory.add().err(), Some(Unadded::Closed), "or the ids would begin anew");
    }
}

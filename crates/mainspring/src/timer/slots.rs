//! The slots as the loop's thread sees them: found by index without a lock, taken and given back.
//!
//! Free slots are taken from the page that had one last, so that a page is filled before the next one is
//! touched. A page of which all slots are free goes; [`SPARES`] such pages are kept, so that a number of
//! timers that goes up and down by not more than that allocates nothing.

use std::sync::Arc;

use crate::timer::page::{Directory, NONE, Node, PAGE, Page, TimerSlot, Unadded};

/// Pages without timers that are kept.
const SPARES: u32 = if cfg!(any(loom, miri)) { 1 } else { 16 };

/// See the [module documentation](self).
pub(crate) struct Slots {
    /// What this thread knows of the directory. It alone removes pages, so none of these is outdated.
    pages: Vec<Option<Arc<Page>>>,
    /// The first page of those that have both free and used slots.
    open: u32,
    /// The first page of those without used slots.
    spare: u32,
    spares: u32,
}

impl Slots {
    pub(crate) const fn new() -> Self {
        Self { pages: Vec::new(), open: NONE, spare: NONE, spares: 0 }
    }

    #[inline]
    fn page(&self, number: u32) -> Option<&Page> {
        self.pages.get(number as usize)?.as_deref()
    }

    /// The page of any index, if this thread knows it.
    #[inline]
    pub(crate) fn find_page(&self, index: u32) -> Option<&Page> {
        self.page(index / PAGE)
    }

    /// For the index of a timer, or of a slot that was taken.
    #[inline]
    pub(crate) fn page_of(&self, index: u32) -> &Page {
        self.find_page(index).expect("a page that is in use")
    }

    /// As for [`Slots::page_of`].
    #[inline]
    pub(crate) fn node(&self, index: u32) -> &Node {
        self.page_of(index).node(index)
    }

    /// As for [`Slots::page_of`].
    #[inline]
    pub(crate) fn slot(&self, index: u32) -> &TimerSlot {
        self.page_of(index).slot(index)
    }

    /// For any index.
    #[inline]
    pub(crate) fn find(&self, index: u32) -> Option<&TimerSlot> {
        Some(self.page(index / PAGE)?.slot(index))
    }

    /// Learns of the page of a slot that another thread may have taken.
    #[inline]
    pub(crate) fn learn(&mut self, index: u32, directory: &Directory) {
        let number = index / PAGE;
        if self.page(number).is_none()
            && let Some(page) = directory.get(number)
        {
            self.know(number, page);
        }
    }

    fn know(&mut self, number: u32, page: Arc<Page>) {
        let number = number as usize;
        if self.pages.len() <= number {
            self.pages.resize(number + 1, None);
        }
        self.pages[number] = Some(page);
    }

    /// Takes a free slot.
    #[inline]
    pub(crate) fn take(&mut self, directory: &Directory) -> Result<u32, Unadded> {
        if self.open == NONE {
            self.open_page(directory)?;
        }
        let number = self.open;
        let page = self.page(number).expect("a page that is in use");
        let within = page.free.get();
        page.free.set(page.node(within).next.get());
        page.used.set(page.used.get() + 1);
        if page.free.get() == NONE {
            self.close_page(number);
        }
        Ok(number * PAGE + within)
    }

    /// Opens a spare page, or a new one.
    #[cold]
    fn open_page(&mut self, directory: &Directory) -> Result<(), Unadded> {
        if self.spare == NONE {
            let (number, page) = directory.add()?;
            for within in 0..PAGE {
                page.node(within).next.set(if within + 1 < PAGE { within + 1 } else { NONE });
            }
            page.free.set(0);
            page.used.set(0);
            self.know(number, page);
            self.list_page(number);
        } else {
            let number = self.spare;
            self.spare = self.page(number).map_or(NONE, |page| page.next_open.get());
            self.spares -= 1;
            self.list_page(number);
        }
        Ok(())
    }

    fn list_page(&mut self, number: u32) {
        let first = self.open;
        if let Some(page) = self.page(number) {
            page.prev_open.set(NONE);
            page.next_open.set(first);
        }
        if let Some(first) = self.page(first) {
            first.prev_open.set(number);
        }
        self.open = number;
    }

    /// Takes a page out of the list of open ones.
    fn close_page(&mut self, number: u32) {
        let Some(page) = self.page(number) else { return };
        let (prev, next) = (page.prev_open.get(), page.next_open.get());
        if let Some(next) = self.page(next) {
            next.prev_open.set(prev);
        }
        match self.page(prev) {
            Some(prev) => prev.next_open.set(next),
            None => self.open = next,
        }
    }

    /// Gives a slot back. Its claim is free, and it holds no callback.
    #[inline]
    pub(crate) fn give_back(&mut self, index: u32, directory: &Directory) {
        let (number, within) = (index / PAGE, index % PAGE);
        let Some(page) = self.page(number) else { return };
        if page.claim(within).is_exhausted() {
            // It counts as used for ever.
            return;
        }
        let was_full = page.free.get() == NONE;
        page.node(within).next.set(page.free.get());
        page.free.set(within);
        let used = page.used.get() - 1;
        page.used.set(used);
        if was_full {
            self.list_page(number);
        }
        if used == 0 {
            self.close_page(number);
            self.retire_page(number, directory);
        }
    }

    /// A page has no used slots any more.
    #[cold]
    fn retire_page(&mut self, number: u32, directory: &Directory) {
        if self.spares < SPARES
            && let Some(page) = self.page(number)
        {
            page.next_open.set(self.spare);
            self.spare = number;
            self.spares += 1;
            return;
        }
        self.pages[number as usize] = None;
        directory.remove(number);
        while let Some(None) = self.pages.last() {
            self.pages.pop();
        }
        if self.pages.capacity() > 64 && self.pages.len() < self.pages.capacity() / 4 {
            self.pages.shrink_to(self.pages.len() * 2);
        }
    }

    /// The indices of all slots that this thread knows of.
    pub(crate) fn indices(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.pages.len() as u32 * PAGE
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::timer::claim::Kind;

    fn pages(slots: &Slots) -> usize {
        slots.pages.iter().flatten().count()
    }

    #[test]
    fn pages_come_and_go_with_the_timers_and_some_are_kept() {
        let directory = Directory::new();
        let mut slots = Slots::new();
        let count = if cfg!(miri) { SPARES + 2 } else { 40 };
        let mut taken: Vec<_> =
            (0..count * PAGE).map(|_| slots.take(&directory).unwrap()).collect();
        assert_eq!(pages(&slots), count as usize);
        let mut unique = taken.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), taken.len());
        // Every third first, so that all pages are open for a while.
        taken.sort_by_key(|index| index % 3);
        for index in taken {
            slots.give_back(index, &directory);
        }
        assert_eq!(pages(&slots), SPARES as usize);
    }

    #[test]
    fn a_page_that_was_kept_is_used_before_a_new_one_is_made() {
        let directory = Directory::new();
        let mut slots = Slots::new();
        for _ in 0..3 {
            let taken: Vec<_> =
                (0..(SPARES + 1) * PAGE).map(|_| slots.take(&directory).unwrap()).collect();
            assert_eq!(pages(&slots), SPARES as usize + 1);
            for index in taken {
                slots.give_back(index, &directory);
            }
            assert_eq!(pages(&slots), SPARES as usize);
            let listed = (0..=SPARES).filter(|number| directory.get(*number).is_some()).count();
            assert_eq!(listed, SPARES as usize, "for other threads, too");
            assert!(slots.indices().all(|index| index / PAGE <= SPARES));
        }
    }

    #[test]
    fn the_list_of_pages_shrinks_when_most_of_them_are_gone() {
        let directory = Directory::new();
        let mut slots = Slots::new();
        let count = if cfg!(miri) { 70 } else { 300 };
        for _ in 0..count * PAGE {
            slots.take(&directory).unwrap();
        }
        let full = slots.pages.capacity();
        let mut empty = |number: u32| {
            for within in 0..PAGE {
                slots.give_back(number * PAGE + within, &directory);
            }
            (slots.pages.len(), slots.pages.capacity())
        };
        (0..SPARES).for_each(|number| _ = empty(number));
        for number in (SPARES..count).rev() {
            let (len, capacity) = empty(number);
            assert_eq!(len, number as usize);
            if len >= full / 4 {
                assert_eq!(capacity, full, "there may soon be as many again");
            }
            assert!(capacity <= 64 || capacity < 4 * (len + 1), "{len} pages in {capacity}");
            assert!(capacity >= 2 * len || len > full / 2, "so that it need not grow at once");
        }
    }

    #[test]
    fn a_number_that_oscillates_around_a_page_allocates_nothing() {
        let directory = Directory::new();
        let mut slots = Slots::new();
        for _ in 0..PAGE {
            slots.take(&directory).unwrap();
        }
        for _ in 0..if cfg!(miri) { 10 } else { 1_000 } {
            let more: Vec<_> = (0..3).map(|_| slots.take(&directory).unwrap()).collect();
            assert_eq!(more[0] / PAGE, 1, "always the same page");
            for index in more {
                slots.give_back(index, &directory);
            }
            assert_eq!(pages(&slots), 2);
        }
    }

    #[test]
    fn the_page_of_a_slot_that_somebody_else_took_is_learnt() {
        let directory = Directory::new();
        let (mut theirs, mut ours) = (Slots::new(), Slots::new());
        let taken: Vec<_> = (0..3 * PAGE).map(|_| theirs.take(&directory).unwrap()).collect();
        for index in [taken[2 * PAGE as usize], taken[PAGE as usize]] {
            assert!(ours.find(index).is_none());
            ours.learn(index, &directory);
            assert!(ours.find(index).is_some());
        }
        assert_eq!(pages(&ours), 2, "and no other");
    }

    // spec: TM-8
    #[test]
    fn when_all_ids_are_used_nothing_is_taken_until_one_comes_back() {
        let directory = Directory::with_max(1);
        let mut slots = Slots::new();
        let taken: Vec<_> = (0..PAGE).map(|_| slots.take(&directory).unwrap()).collect();
        assert_eq!(slots.take(&directory), Err(Unadded::Exhausted));
        assert_eq!(slots.take(&directory), Err(Unadded::Exhausted));
        slots.give_back(taken[3], &directory);
        assert_eq!(slots.take(&directory), Ok(taken[3]));
    }

    // spec: TM-8
    #[test]
    fn a_slot_with_no_generation_left_is_not_used_again() {
        let directory = Directory::with_max(1);
        let mut slots = Slots::new();
        let index = slots.take(&directory).unwrap();
        let claim = &slots.slot(index).claim;
        claim.set_generation(crate::timer::id::GENERATIONS - 1);
        claim.arm(Kind::Timeout);
        claim.fire();
        slots.give_back(index, &directory);
        let rest = std::iter::from_fn(|| slots.take(&directory).ok()).collect::<Vec<_>>();
        assert_eq!(rest.len(), PAGE as usize - 1);
        assert!(!rest.contains(&index));
    }
}

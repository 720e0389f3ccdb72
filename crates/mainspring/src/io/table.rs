//! Which descriptors are registered, and where.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use super::slot::{Entry, FdSlot, MAX_SLOTS, Page, Token, Word, find};
use crate::sys::RawFd;

/// What is behind the lock. It is held while the system is told of a change, so that both agree, and never
/// while the loop waits or a callback runs.
#[derive(Default)]
pub(crate) struct Table {
    /// The slot of each registered descriptor.
    by_fd: HashMap<RawFd, u32>,
    pages: Vec<Arc<Page>>,
    free: Vec<u32>,
    /// Slots that another thread ended, for the loop's thread to empty.
    left: Vec<u32>,
    /// Nothing more is registered: the loop has terminated.
    pub(crate) is_closed: bool,
}

/// With fewer descriptors the table does not shrink.
const SMALL: usize = 256;

impl Table {
    /// How many descriptors are registered.
    pub(crate) fn len(&self) -> usize {
        self.by_fd.len()
    }

    /// The registration of a descriptor.
    pub(crate) fn token(&self, fd: RawFd) -> Option<Token> {
        self.by_fd.get(&fd).map(|index| self.slot(*index).token(*index))
    }

    /// The slot of a registration, if that is live.
    pub(crate) fn live(&self, token: Token) -> Option<(&FdSlot, Word)> {
        let slot = find(&self.pages, token.index())?;
        slot.live(token).map(|word| (slot, word))
    }

    /// What is wrong, if something is. A table of many descriptors is looked at as a whole, one of few also one by one.
    pub(crate) fn defect(&self) -> Option<String> {
        const FEW: usize = 64;
        let (slots, used) = (self.pages.len() * Page::LEN, self.len() + self.free.len());
        if used + self.left.len() > slots {
            return Some(format!("a table of {slots} slots has {used} free or in use"));
        }
        if self.len() > FEW {
            return None;
        }
        let mut few = self.by_fd.iter();
        let dead = few.find(|(_, index)| {
            let slot = self.slot(**index);
            slot.live(slot.token(**index)).is_none() || self.free.contains(index)
        });
        dead.map(|(fd, index)| {
            format!("descriptor {fd} is registered in slot {index}, which is not in use")
        })
    }

    fn slot(&self, index: u32) -> &FdSlot {
        find(&self.pages, index as usize).expect("the table knows the slots that it made")
    }

    /// The descriptors, with their registrations.
    pub(crate) fn all(&self) -> Vec<(RawFd, Token)> {
        self.by_fd.iter().map(|(fd, index)| (*fd, self.slot(*index).token(*index))).collect()
    }

    /// The pages, for the loop to find slots without the lock.
    pub(crate) fn pages(&self) -> Vec<Arc<Page>> {
        self.pages.clone()
    }

    /// Makes a registration that the system does not know yet.
    pub(crate) fn claim(&mut self, entry: Entry, word: Word) -> Result<Token, (io::Error, Entry)> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if ((self.pages.len() + 1) * Page::LEN) as u64 > MAX_SLOTS => {
                return Err((io::Error::other("too many descriptors for one loop"), entry));
            }
            None => {
                let first = (self.pages.len() * Page::LEN) as u32;
                self.pages.push(Arc::new(Page::new()));
                self.free.extend((first + 1..first + Page::LEN as u32).rev());
                first
            }
        };
        let slot = self.slot(index);
        // SAFETY: under the lock, and the slot was free.
        unsafe { slot.put(entry) };
        slot.store(word);
        Ok(slot.token(index))
    }

    /// Takes a registration back that the system refused.
    pub(crate) fn unclaim(&mut self, token: Token) -> Entry {
        let index = token.index() as u32;
        let slot = self.slot(index);
        slot.end();
        // SAFETY: under the lock, by whoever put it in; the system never knew the token.
        let entry = unsafe { slot.take() }.expect("it was put in before");
        self.release(index);
        entry
    }

    /// Makes a registration that of its descriptor.
    pub(crate) fn install(&mut self, fd: RawFd, token: Token) {
        self.by_fd.insert(fd, token.index() as u32);
    }

    /// Takes a registration out of the table. Its slot has to be [emptied](Self::empty) or
    /// [left](Self::leave) then.
    pub(crate) fn end(&mut self, fd: RawFd, token: Token) {
        let index = token.index() as u32;
        if self.by_fd.get(&fd) == Some(&index) {
            self.by_fd.remove(&fd);
            if self.by_fd.capacity() > SMALL && self.by_fd.len() < self.by_fd.capacity() / 8 {
                self.by_fd.shrink_to(self.by_fd.len() * 2);
            }
        }
        self.slot(index).end();
    }

    /// Takes the entry out of a slot whose registration has ended.
    ///
    /// # Safety
    ///
    /// By the loop's thread.
    pub(crate) unsafe fn empty(&mut self, index: usize) -> Option<Entry> {
        let index = index as u32;
        // SAFETY: the caller is the loop's thread.
        let entry = unsafe { self.slot(index).take() };
        self.release(index);
        entry
    }

    /// Leaves a slot whose registration has ended to the loop's thread.
    pub(crate) fn leave(&mut self, token: Token) {
        self.left.push(token.index() as u32);
    }

    /// Empties what other threads left.
    ///
    /// # Safety
    ///
    /// By the loop's thread.
    pub(crate) unsafe fn empty_left(&mut self) -> Vec<Entry> {
        let left = std::mem::take(&mut self.left);
        // SAFETY: the caller is the loop's thread.
        left.into_iter().filter_map(|index| unsafe { self.empty(index as usize) }).collect()
    }

    /// Ends everything.
    ///
    /// # Safety
    ///
    /// By the loop's thread.
    pub(crate) unsafe fn empty_all(&mut self) -> Vec<Entry> {
        self.is_closed = true;
        self.by_fd = HashMap::new();
        self.left = Vec::new();
        let pages = std::mem::take(&mut self.pages);
        self.free = Vec::new();
        let slots = pages.iter().flat_map(|page| page.slots());
        slots
            .filter_map(|slot| {
                slot.end();
                // SAFETY: the caller is the loop's thread.
                unsafe { slot.take() }
            })
            .collect()
    }

    fn release(&mut self, index: u32) {
        if !self.slot(index).is_used_up() {
            self.free.push(index);
        }
    }
}

//! The place of one registration.
//!
//! # The word of a slot
//!
//! | bits  | name         | meaning                                                          |
//! |-------|--------------|------------------------------------------------------------------|
//! | 0–3   |              | the [`Interest`]                                                 |
//! | 4, 5  |              | the directions for which there is a callback                     |
//! | 6     | `ERROR`      | there is an error callback                                       |
//! | 7     | `STRICT`     | there is one callback for everything                             |
//! | 8     | `LIVE`       | in the table                                                     |
//! | 9     | `ARMED`      | not a one-shot that has fired                                    |
//! | 10    | `REFERENCED` | keeps `run_until_idle` from returning, while it can fire         |
//! | 11    | `MUTED`      | reported a hang-up or an error that nobody listens to            |
//! | 12    | `READ_END`   | wants to know of the end of what can be read before it is met    |
//! | 32–63 |              | the generation: how many registrations the slot had before       |
//!
//! A registration is known to the system by its token, which is the number of the slot and the generation.
//! An event is delivered only if its token is that of a live slot; so one that was harvested, or is still
//! being reported, for a registration that is gone, reaches nobody.
//!
//! # Who may touch what
//!
//! 1. The word is written under the table's lock, and read by the loop without.
//! 2. The entry is written by whoever registers, under the lock and before the system knows the token. From
//!    then on it belongs to the loop's thread, until that takes it out. So a slot is not used again before
//!    the loop's thread has emptied it. Only a registration that is refused takes its entry back, which the
//!    system never knew.

use std::any::Any;
use std::panic::Location;
use std::rc::Rc;

use super::readiness::{Readiness, Step};
use crate::sync::{AtomicU64, Ordering, UnsafeCell};
use crate::sys::{RawFd, TOKEN_BITS};
use crate::{Cx, Interest};

/// Bits of a token that are the number of the slot.
const INDEX_BITS: u32 = if TOKEN_BITS == 64 { 32 } else { 20 };

/// How many slots there can be.
pub(crate) const MAX_SLOTS: u64 = (1 << INDEX_BITS) - 1;

/// The last generation of a slot; after that it is not used again. One less than what has room, so that no
/// token is one of those that a poller keeps for itself.
const LAST_GENERATION: u64 = (1 << (TOKEN_BITS - INDEX_BITS)) - 2;

/// A registration, as the system knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) u64);

impl Token {
    fn new(index: u32, generation: u64) -> Self {
        Self(generation << INDEX_BITS | u64::from(index))
    }

    pub(crate) fn index(self) -> usize {
        (self.0 & ((1 << INDEX_BITS) - 1)) as usize
    }

    fn generation(self) -> u64 {
        self.0 >> INDEX_BITS
    }
}

/// A value of the word. See the [module documentation](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(u64);

const HEARS: u32 = 4;
const ERROR: u64 = 1 << 6;
const STRICT: u64 = 1 << 7;
const LIVE: u64 = 1 << 8;
const ARMED: u64 = 1 << 9;
const REFERENCED: u64 = 1 << 10;
const MUTED: u64 = 1 << 11;
const READ_END: u64 = 1 << 12;
const GENERATION: u32 = 32;

impl Word {
    /// What a registration begins with.
    pub(crate) fn new(interest: Interest, hears: Hears, is_referenced: bool) -> Self {
        Self(0)
            .with_bits(u64::from(hears.directions.bits()) << HEARS, true)
            .with_bits(ERROR, hears.error)
            .with_bits(STRICT, hears.is_strict)
            .with_bits(LIVE, true)
            .with_interest(interest)
            .with_referenced(is_referenced)
    }

    fn has(self, bits: u64) -> bool {
        self.0 & bits != 0
    }

    fn with_bits(self, bits: u64, value: bool) -> Self {
        Self(if value { self.0 | bits } else { self.0 & !bits })
    }

    /// Armed, with another interest.
    pub(crate) fn with_interest(self, interest: Interest) -> Self {
        let rest = self.0 & !u64::from(Interest::from_bits(u8::MAX).bits());
        Self(rest | u64::from(interest.bits())).with_bits(ARMED, true).with_bits(MUTED, false)
    }

    pub(crate) fn with_referenced(self, is_referenced: bool) -> Self {
        self.with_bits(REFERENCED, is_referenced)
    }

    #[cfg(not(loom))]
    pub(crate) fn with_read_end(self) -> Self {
        self.with_bits(READ_END, true)
    }

    pub(crate) fn with_muted(self, is_muted: bool) -> Self {
        self.with_bits(MUTED, is_muted)
    }

    pub(crate) fn disarmed(self) -> Self {
        self.with_bits(ARMED, false)
    }

    pub(crate) fn interest(self) -> Interest {
        Interest::from_bits(self.0 as u8)
    }

    /// The directions that were asked for, and have a callback.
    pub(crate) fn heard(self) -> Interest {
        self.interest().directions().and(Interest::from_bits((self.0 >> HEARS) as u8))
    }

    pub(crate) fn hears_error(self) -> bool {
        self.has(ERROR)
    }

    pub(crate) fn is_strict(self) -> bool {
        self.has(STRICT)
    }

    pub(crate) fn is_armed(self) -> bool {
        self.has(ARMED)
    }

    pub(crate) fn is_muted(self) -> bool {
        self.has(MUTED)
    }

    /// Whether it can cause a callback that the loop is to wait for.
    pub(crate) fn keeps_alive(self) -> bool {
        let can_fire = self.has(ARMED) && (!self.heard().is_none() || self.hears_error());
        self.has(LIVE) && self.has(REFERENCED) && can_fire
    }

    /// What the system is asked for.
    ///
    /// What nobody hears is not asked for. Without any callback, and while muted, the system is to report
    /// hang-ups and errors once and not for ever, which is what edges are. A muted one-shot is disarmed by
    /// the loop: if the system did it, the event that nobody listens to would use it up.
    pub(crate) fn request(self) -> Interest {
        let heard = self.heard();
        if !self.is_armed() {
            Interest::EDGE
        } else if self.is_muted() || heard.is_none() && !self.hears_error() {
            heard | Interest::EDGE
        } else if self.has(READ_END) {
            heard | self.interest().mode() | Interest::READ_END
        } else {
            heard | self.interest().mode()
        }
    }
}

/// The callbacks that a registration has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hears {
    pub(crate) directions: Interest,
    pub(crate) error: bool,
    pub(crate) is_strict: bool,
}

/// What to tell a callback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) step: Step,
    pub(crate) readiness: Option<Readiness>,
}

/// The callbacks of a registration, with what they are called with.
pub(crate) trait Dispatch {
    /// Whether the source is still there, and is still this descriptor.
    fn is_current(&self, fd: RawFd) -> bool;

    /// Calls one of them.
    fn call(&self, cx: &Cx, call: Call);

    /// Where it was registered.
    fn place(&self) -> Option<&'static Location<'static>> {
        None
    }

    /// For a registration that was refused.
    fn into_any(self: Rc<Self>) -> Rc<dyn Any>;
}

/// What is in a slot.
pub(crate) struct Entry {
    pub(crate) fd: RawFd,
    pub(crate) dispatch: Rc<dyn Dispatch>,
}

/// See the [module documentation](self).
pub(crate) struct FdSlot {
    word: AtomicU64,
    entry: UnsafeCell<Option<Entry>>,
}

// SAFETY: the word is atomic. The entry, which is not `Send`, is put in by a thread that has its only
// reference and does not touch it again, unless to take it back before any other thread could know of it; all
// else is done to it by the loop's thread (rule 2).
unsafe impl Send for FdSlot {}
// SAFETY: as for `Send`.
unsafe impl Sync for FdSlot {}

impl FdSlot {
    pub(crate) fn new() -> Self {
        Self { word: AtomicU64::new(0), entry: UnsafeCell::new(None) }
    }

    /// The word, if the token is that of a live registration in this slot.
    #[inline]
    pub(crate) fn live(&self, token: Token) -> Option<Word> {
        // Acquire: the partner is the Release in `store`, so the entry is seen, too.
        let word = self.word.load(Ordering::Acquire);
        let is_live = word & LIVE != 0 && word >> GENERATION == token.generation();
        is_live.then_some(Word(word))
    }

    /// The present registration. Under the table's lock.
    pub(crate) fn token(&self, index: u32) -> Token {
        Token::new(index, self.word.load(Ordering::Relaxed) >> GENERATION)
    }

    /// Changes everything but the generation. Under the table's lock.
    pub(crate) fn store(&self, word: Word) {
        let generation = self.word.load(Ordering::Relaxed) >> GENERATION << GENERATION;
        let rest = word.0 & ((1 << GENERATION) - 1);
        // Release: the partner is the Acquire in `live`.
        self.word.store(generation | rest, Ordering::Release);
    }

    /// Ends the registration: its token is that of none any more. Under the table's lock.
    pub(crate) fn end(&self) {
        let generation = (self.word.load(Ordering::Relaxed) >> GENERATION) + 1;
        self.word.store(generation << GENERATION, Ordering::Release);
    }

    /// Whether the slot can be used again. Under the table's lock.
    pub(crate) fn is_used_up(&self) -> bool {
        self.word.load(Ordering::Relaxed) >> GENERATION > LAST_GENERATION
    }

    /// Puts an entry in.
    ///
    /// # Safety
    ///
    /// Under the table's lock, in a slot that is free.
    pub(crate) unsafe fn put(&self, entry: Entry) {
        // SAFETY: nobody knows the token that the slot will have, so nobody else looks.
        self.entry.with_mut(|cell| unsafe { *cell = Some(entry) });
    }

    /// Takes the entry out.
    ///
    /// # Safety
    ///
    /// By the loop's thread; or by whoever put it in, under the same lock, if the system refused the token.
    pub(crate) unsafe fn take(&self) -> Option<Entry> {
        // SAFETY: rule 2; no reference into the cell outlives a call.
        self.entry.with_mut(|cell| unsafe { (*cell).take() })
    }

    /// The entry's descriptor, and another reference to its callbacks.
    ///
    /// # Safety
    ///
    /// By the loop's thread.
    #[inline]
    pub(crate) unsafe fn get(&self) -> Option<(RawFd, Rc<dyn Dispatch>)> {
        // SAFETY: rule 2; no reference into the cell outlives a call, and cloning an `Rc` runs no code of
        // the user.
        self.entry.with(|cell| unsafe {
            (*cell).as_ref().map(|entry| (entry.fd, Rc::clone(&entry.dispatch)))
        })
    }
}

/// Slots that stay where they are.
pub(crate) struct Page([FdSlot; Self::LEN]);

impl Page {
    pub(crate) const LEN: usize = if cfg!(loom) { 2 } else { 128 };

    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| FdSlot::new()))
    }

    pub(crate) fn slots(&self) -> &[FdSlot] {
        &self.0
    }
}

/// The slot with a number.
#[inline]
pub(crate) fn find<P: AsRef<Page>>(pages: &[P], index: usize) -> Option<&FdSlot> {
    pages.get(index / Page::LEN).map(|page| &page.as_ref().0[index % Page::LEN])
}

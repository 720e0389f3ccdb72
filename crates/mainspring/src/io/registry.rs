//! Registering, changing and removing, from any thread.
//!
//! Each operation holds the table's lock from its look at the table until the system has answered. None
//! waits for the loop: the lock is not held while that waits or runs a callback.

use std::io;
use std::panic::Location;
use std::sync::Arc;

use super::slot::{Entry, Token, Word};
use super::table::Table;
use crate::fault::drop_isolated;
use crate::shared::Shared;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, lock};
use crate::sys::{BorrowedFd, Poller, RawFd};
use crate::{Error, FastPathMode, Interest};

/// A descriptor, what it is watched for, and where it was registered.
pub(crate) type Descriptor = (RawFd, Interest, Option<&'static Location<'static>>);

/// What a loop shares with its handles about descriptors.
#[derive(Default)]
pub(crate) struct Io {
    table: Mutex<Table>,
    /// How many are registered, which decides what a sleep blocks on. Written under the lock.
    registered: AtomicUsize,
    /// How many keep the loop alive. Written under the lock.
    referenced: AtomicUsize,
    /// How many have ended so far. Written under the lock.
    ended: AtomicUsize,
    /// Whether slots are left to the loop's thread to be emptied. Written under the lock.
    has_left: AtomicBool,
}

impl Io {
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.registered.load(Ordering::Relaxed) != 0
    }

    /// How many are registered.
    #[cfg(feature = "metrics")]
    pub(crate) fn registered(&self) -> usize {
        self.registered.load(Ordering::Relaxed)
    }

    /// How many can cause a callback that the loop is to wait for.
    pub(crate) fn referenced(&self) -> usize {
        // Acquire: the partner is the Release in `count`. What was queued before the last one was removed is
        // found.
        self.referenced.load(Ordering::Acquire)
    }

    pub(crate) fn ended(&self) -> usize {
        self.ended.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn has_left(&self) -> bool {
        self.has_left.load(Ordering::Relaxed)
    }

    /// Counts a descriptor that is not registered.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn miscount(&self) {
        self.registered.fetch_add(1, Ordering::Relaxed);
    }

    /// What is wrong with the table, if something is.
    pub(crate) fn defect(&self) -> Option<String> {
        let table = self.lock();
        let registered = self.registered.load(Ordering::Relaxed);
        if table.len() != registered && !table.is_closed {
            let len = table.len();
            return Some(format!("{registered} descriptors are counted, and {len} registered"));
        }
        table.defect()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }

    /// Notes that a word changes, under the lock. True if nothing keeps the loop alive any more by that.
    fn count(&self, from: Option<Word>, to: Option<Word>) -> bool {
        let keeps = |word: Option<Word>| word.is_some_and(Word::keeps_alive);
        match (keeps(from), keeps(to)) {
            (false, true) => {
                self.referenced.fetch_add(1, Ordering::Relaxed);
                false
            }
            // Release: the partner is the Acquire in `referenced`.
            (true, false) => self.referenced.fetch_sub(1, Ordering::Release) == 1,
            _ => false,
        }
    }
}

/// How to register a descriptor that is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    Refuse,
    Replace,
}

/// A descriptor by the number that it was registered with.
fn borrow(fd: &RawFd) -> BorrowedFd<'_> {
    // SAFETY: the number came from a descriptor, so it is not -1. It may have been closed since: it is given
    // to the system's poller only, which answers with an error, or finds the registration of a descriptor
    // that somebody else has under this number now, if there is one in this very poller.
    unsafe { BorrowedFd::borrow_raw(*fd) }
}

/// Whether the system's answer is that there is no such registration.
fn is_gone(error: &io::Error) -> bool {
    /// `EBADF` wherever there are such numbers.
    const BAD_DESCRIPTOR: i32 = 9;
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(BAD_DESCRIPTOR)
}

/// Whether the system's answer is that it has not enough of something.
fn is_scarce(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::OutOfMemory | io::ErrorKind::StorageFull)
}

/// Tells the system of a new registration, for a descriptor that has one in the table or not.
fn admit(
    poller: &Poller,
    fd: RawFd,
    token: Token,
    word: Word,
    existing: Option<Existing>,
) -> Result<(), Error> {
    let add = || poller.add(borrow(&fd), token.0, word.request());
    let modify = || poller.modify(borrow(&fd), token.0, word.request());
    let is = |result: &io::Result<()>, kind| result.as_ref().is_err_and(|e| e.kind() == kind);
    let mut result = match existing {
        None | Some(Existing::Refuse) => add(),
        Some(Existing::Replace) => modify(),
    };
    match existing {
        // The table does not know it, but the system does: somebody has put another descriptor of the same
        // file under the number of one that was closed before it was removed.
        None if is(&result, io::ErrorKind::AlreadyExists) => result = modify(),
        // The table knows it. If the system does not, it was closed, and the number belongs to another one now.
        Some(Existing::Refuse) if is(&result, io::ErrorKind::AlreadyExists) => {
            return Err(Error::FdAlreadyRegistered);
        }
        Some(Existing::Replace) if is(&result, io::ErrorKind::NotFound) => result = add(),
        _ => {}
    }
    Ok(result?)
}

impl Shared {
    /// Registers a descriptor. On failure nothing has changed, and the entry comes back.
    pub(crate) fn register(
        &self,
        word: Word,
        existing: Existing,
        entry: Entry,
    ) -> Result<Token, (Error, Entry)> {
        let fd = entry.fd;
        let mut table = self.io.lock();
        let was_open = self.sleep.poller().is_some();
        let poller = match self.poller_for(&table) {
            Ok(poller) => poller,
            Err(error) => return Err((error, entry)),
        };
        let old = table.token(fd);
        let existing = old.map(|_| existing);
        let claimed = match table.claim(entry, word) {
            Ok(token) => admit(&poller, fd, token, word, existing)
                .map(|()| token)
                .map_err(|error| (error, table.unclaim(token))),
            Err((error, entry)) => Err((error.into(), entry)),
        };
        let token = match claimed {
            Ok(token) => token,
            Err(refused) => {
                if !was_open {
                    // The loop has not seen it: that takes a registration, or the lock.
                    self.sleep.unopen_source();
                }
                return Err(refused);
            }
        };
        // Before the old one is not counted any more, so that the loop is not idle in between.
        self.io.count(None, Some(word));
        let replaced = old.map(|old| self.end(&mut table, fd, old));
        table.install(fd, token);
        let is_first = self.io.registered.swap(table.len(), Ordering::Relaxed) == 0;
        drop(table);
        if is_first && !self.owner.is_current() {
            // It may be about to park, where it would not hear of the descriptor.
            self.wake();
        }
        if let Some(replaced) = replaced {
            self.dispose(replaced);
        }
        Ok(token)
    }

    /// The poller, if registering is possible.
    fn poller_for(&self, table: &Table) -> Result<Arc<Poller>, Error> {
        if table.is_closed || self.state().is_ending() {
            return Err(Error::Terminated);
        }
        if self.fast_path() == FastPathMode::Forced {
            return Err(Error::FastPathIncompatible);
        }
        self.sleep.open_source()
    }

    /// Ends a registration, in the table only.
    fn end(&self, table: &mut Table, fd: RawFd, token: Token) -> Ended {
        let word = table.live(token).map(|(_, word)| word);
        // Before the slot's word says so: a loop that sees the registration gone sees it counted.
        self.io.ended.fetch_add(1, Ordering::Relaxed);
        table.end(fd, token);
        self.io.registered.store(table.len(), Ordering::Relaxed);
        let is_left = !self.owner.is_current();
        let entry = if is_left {
            table.leave(token);
            self.io.has_left.store(true, Ordering::Relaxed);
            None
        } else {
            // SAFETY: this is the loop's thread.
            unsafe { table.empty(token.index()) }
        };
        // Last: a loop that finds itself idle by this finds what is left to it, too.
        let is_last = self.io.count(word, None);
        Ended { entry, is_left, is_last }
    }

    /// Drops what was registered, without the lock; or has the loop do that.
    pub(crate) fn dispose(&self, ended: Ended) {
        if ended.is_left {
            if ended.is_last {
                self.wake();
            } else {
                self.sleep.notify();
            }
        }
        drop(ended.entry);
    }

    /// Removes what is registered for a descriptor. Its callbacks and its source are dropped, by the loop's
    /// thread.
    pub(crate) fn unregister(&self, fd: RawFd) -> Result<Ended, Error> {
        let mut table = self.io.lock();
        if table.is_closed {
            return Err(Error::PollerClosed);
        }
        let token = table.token(fd).ok_or(Error::FdNotRegistered)?;
        Ok(self.remove(&mut table, fd, token))
    }

    /// Removes a registration, if it is live.
    pub(crate) fn unregister_token(&self, fd: RawFd, token: Token) -> Option<Ended> {
        let mut table = self.io.lock();
        table.live(token)?;
        Some(self.remove(&mut table, fd, token))
    }

    fn remove(&self, table: &mut Table, fd: RawFd, token: Token) -> Ended {
        if let Some(poller) = self.sleep.poller() {
            // The table is the authority: what the system says does not matter.
            let _ = poller.delete(borrow(&fd));
        }
        self.end(table, fd, token)
    }

    /// Changes the interest, and arms a one-shot again.
    pub(crate) fn modify(
        &self,
        fd: RawFd,
        token: Option<Token>,
        interest: Interest,
    ) -> Result<(), Error> {
        self.change(fd, token, |word| word.with_interest(interest), true)
    }

    /// Whether it keeps the loop alive.
    pub(crate) fn reference(
        &self,
        fd: RawFd,
        token: Option<Token>,
        referenced: bool,
    ) -> Result<(), Error> {
        self.change(fd, token, |word| word.with_referenced(referenced), false)
    }

    /// Changes the word of a registration: that with the token, or else that of the descriptor.
    fn change(
        &self,
        fd: RawFd,
        token: Option<Token>,
        change: impl FnOnce(Word) -> Word,
        tell: bool,
    ) -> Result<(), Error> {
        let mut table = self.io.lock();
        if table.is_closed {
            return Err(Error::PollerClosed);
        }
        let token = token.or_else(|| table.token(fd)).ok_or(Error::FdNotRegistered)?;
        let (slot, word) = table.live(token).ok_or(Error::FdNotRegistered)?;
        let new = change(word);
        // An edge-triggered or one-shot interest is armed again even if it is the same.
        let is_same = new.request() == word.request() && new.request().is_level();
        if tell && !is_same {
            let poller = self.sleep.poller().ok_or(Error::PollerClosed)?;
            // Before the system is told, so that the event that follows finds it.
            slot.store(new);
            if let Err(error) = poller.modify(borrow(&fd), token.0, new.request()) {
                slot.store(word);
                if !is_gone(&error) {
                    return Err(error.into());
                }
                // It was closed: there is nothing left that could be changed.
                let ended = self.end(&mut table, fd, token);
                drop(table);
                self.dispose(ended);
                return Err(Error::FdNotRegistered);
            }
        } else {
            slot.store(new);
        }
        let is_last = self.io.count(Some(word), Some(new));
        drop(table);
        if is_last && !self.owner.is_current() {
            self.wake();
        }
        Ok(())
    }

    /// A one-shot is about to be delivered. False if it has been already. For the loop's thread.
    pub(crate) fn disarm(&self, fd: RawFd, token: Token) -> bool {
        let table = self.io.lock();
        let Some((slot, word)) = table.live(token).filter(|(_, word)| word.is_armed()) else {
            return false;
        };
        let new = word.disarmed().with_muted(false);
        slot.store(new);
        self.io.count(Some(word), Some(new));
        if word.is_muted() {
            // If that fails, edges are reported, and not delivered.
            let _ = self.tell(fd, token, new);
        }
        true
    }

    /// Has the system report edges only, or not any more. If the system refuses, the next event is a reason to
    /// try again; if it does not know the descriptor, that is removed. For the loop's thread.
    pub(crate) fn mute(&self, fd: RawFd, token: Token, is_muted: bool) {
        let mut table = self.io.lock();
        let Some((slot, word)) = table.live(token).filter(|(_, word)| word.is_armed()) else {
            return;
        };
        let new = word.with_muted(is_muted);
        // What is asked for already is not asked for again: edges would be reported once more.
        if new.request() == word.request() {
            return slot.store(new);
        }
        match self.tell(fd, token, new) {
            Ok(()) => slot.store(new),
            Err(error) if is_gone(&error) => {
                let ended = self.end(&mut table, fd, token);
                drop(table);
                drop_isolated(ended);
            }
            Err(_) => {}
        }
    }

    /// Tells the system of a change that the user does not know of.
    fn tell(&self, fd: RawFd, token: Token, word: Word) -> io::Result<()> {
        let Some(poller) = self.sleep.poller() else { return Ok(()) };
        poller.modify(borrow(&fd), token.0, word.request())
    }

    /// Takes out what other threads removed. For the loop's thread.
    pub(crate) fn take_left(&self) -> Vec<Entry> {
        let mut table = self.io.lock();
        self.io.has_left.store(false, Ordering::Relaxed);
        // SAFETY: this is the loop's thread.
        unsafe { table.empty_left() }
    }

    /// Registers everything with a new poller, because the old one reports what was removed: a descriptor
    /// was closed before that, and another one of the same file, perhaps in another process, keeps what
    /// the system knows. Nothing else gets rid of it. For the loop's thread.
    pub(crate) fn rebuild_poller(&self) -> io::Result<()> {
        let mut table = self.io.lock();
        if table.is_closed {
            return Ok(());
        }
        let Some(old) = self.sleep.poller() else { return Ok(()) };
        let poller = Poller::new()?;
        let mut closed = Vec::new();
        for (fd, token) in table.all() {
            let Some((_, word)) = table.live(token) else { continue };
            // The old one is asked first: a number that it does not know belongs to a stranger now.
            let known = old.modify(borrow(&fd), token.0, word.request());
            match known.and_then(|()| poller.add(borrow(&fd), token.0, word.request())) {
                Ok(()) => {}
                Err(error) if is_scarce(&error) => return Err(error),
                Err(_) => closed.push((fd, token)),
            }
        }
        self.sleep.replace_source(poller);
        let ended: Vec<_> =
            closed.into_iter().map(|(fd, token)| self.end(&mut table, fd, token)).collect();
        drop(table);
        ended.into_iter().for_each(drop_isolated);
        Ok(())
    }

    /// The descriptors that keep the loop alive, so many at the most, with their interests and where they were registered; and
    /// how many there are. For the loop's thread.
    pub(crate) fn list_referenced(&self, limit: usize) -> (Vec<Descriptor>, usize) {
        let table = self.io.lock();
        let live = table.all().into_iter().filter_map(|(fd, token)| {
            let (slot, word) = table.live(token)?;
            // SAFETY: this is the loop's thread.
            let (_, dispatch) = unsafe { slot.get() }?;
            word.keeps_alive().then(|| (fd, word.interest(), dispatch.place()))
        });
        let mut found: Vec<_> = live.take(limit).collect();
        found.sort_unstable_by_key(|(fd, ..)| *fd);
        (found, self.io.referenced())
    }

    /// Accepts no more registrations. Those that are there are dropped by the loop's thread.
    pub(crate) fn close_table(&self) {
        self.io.lock().is_closed = true;
    }

    /// Accepts no more registrations, and takes out those that are there. For the loop's thread.
    pub(crate) fn empty_table(&self) -> Vec<Entry> {
        let mut table = self.io.lock();
        // SAFETY: this is the loop's thread.
        let entries = unsafe { table.empty_all() };
        self.io.registered.store(0, Ordering::Relaxed);
        self.io.referenced.store(0, Ordering::Relaxed);
        self.io.has_left.store(false, Ordering::Relaxed);
        entries
    }

    /// Changes the mode, unless descriptors are in the way.
    pub(crate) fn set_fast_path(&self, mode: FastPathMode) -> Result<(), Error> {
        let table = self.io.lock();
        if self.state().is_ending() {
            return Err(Error::Terminated);
        }
        match mode {
            FastPathMode::Forced if table.len() != 0 => return Err(Error::FastPathIncompatible),
            FastPathMode::Disabled => drop(self.sleep.open_source()?),
            FastPathMode::Forced | FastPathMode::Auto => {}
        }
        self.store_fast_path(mode);
        drop(table);
        self.wake();
        Ok(())
    }
}

/// A registration that was removed.
#[must_use]
pub(crate) struct Ended {
    /// On the loop's thread: what there was.
    entry: Option<Entry>,
    /// Elsewhere: it was left to the loop's thread.
    is_left: bool,
    /// Nothing keeps the loop alive any more.
    is_last: bool,
}

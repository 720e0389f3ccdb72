//! From an event to a callback, on the loop's thread.
//!
//! The events of one poll are a batch. They are gone through one by one, and for each the callbacks that it
//! is for, one by one; where that stands is kept here and not on the stack, so that it goes on after a
//! panic that left the loop. Before each callback the registration is looked at anew, because the one before
//! may have removed or changed it, or anything else.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use super::readiness::{Readiness, Step, Steps};
use super::slot::{Call, Dispatch, Page, Token, Word, find};
use crate::fault::{drop_isolated, log_isolated};
use crate::shared::Shared;
use crate::sys::{self, BorrowedFd, Event, Events, Flags, Poller, RawFd};
use crate::task::Run;
use crate::{Cx, Error};

/// How many batches pass before the poller is built anew again, and how many after that.
#[derive(Clone, Copy, Debug, Default)]
struct Backoff {
    skip: u32,
    next: u32,
}

impl Backoff {
    const MOST: u32 = 1 << 16;
}

/// The loop's own side of its descriptors.
pub(crate) struct Watchers {
    /// The open poller, once it was needed. Only the loop's thread replaces or closes that.
    poller: RefCell<Option<Arc<Poller>>>,
    /// Allocated by the first poll.
    events: RefCell<Option<Events>>,
    /// The events of the batch that are not begun: from the first number to before the second.
    next: Cell<usize>,
    end: Cell<usize>,
    /// The event that is begun, and what is left of it.
    event: Cell<Event>,
    steps: Cell<Steps>,
    /// The registration whose source is in use by code of the user.
    running: Cell<Option<Token>>,
    pages: RefCell<Vec<Arc<Page>>>,
    /// Registrations that do not own their source, dead ones included.
    weak: RefCell<Vec<Token>>,
    /// Events of the batch whose registration was gone when they were met.
    stale: Cell<usize>,
    /// How many registrations had ended when the batch's poll began.
    ended: Cell<usize>,
    backoff: Cell<Backoff>,
}

impl Watchers {
    pub(crate) fn new() -> Self {
        Self {
            poller: RefCell::new(None),
            events: RefCell::new(None),
            next: Cell::new(0),
            end: Cell::new(0),
            event: Cell::new(Event { token: 0, flags: Flags::NOTHING }),
            steps: Cell::new(Steps::NONE),
            running: Cell::new(None),
            pages: RefCell::default(),
            weak: RefCell::default(),
            stale: Cell::new(0),
            ended: Cell::new(0),
            backoff: Cell::default(),
        }
    }

    /// Whether a batch is not finished.
    #[inline]
    pub(crate) fn has_events(&self) -> bool {
        self.next.get() != self.end.get() || !self.steps.get().is_empty()
    }

    /// Whether the last poll found a descriptor ready.
    #[cfg(all(target_os = "linux", not(loom)))]
    pub(crate) fn had_events(&self) -> bool {
        self.end.get() != 0
    }

    /// Has the buffer filled by a poll that says whether it did that.
    pub(crate) fn fill(
        &self,
        shared: &Shared,
        poll: impl FnOnce(&Poller, &mut Events) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        self.ended.set(shared.io.ended());
        self.stale.set(0);
        let mut poller = self.poller.borrow_mut();
        let poller = match &mut *poller {
            Some(poller) => poller,
            none => none.insert(shared.sleep.poller().ok_or(Error::PollerClosed)?),
        };
        let mut events = self.events.borrow_mut();
        let events = events.get_or_insert_with(Events::new);
        self.next.set(0);
        self.end.set(0);
        let is_filled = poll(poller, events)?;
        if is_filled {
            self.end.set(events.len());
        }
        Ok(is_filled)
    }

    /// The next callback to run.
    #[inline]
    pub(crate) fn next(&self, shared: &Shared) -> Option<DueCallback> {
        if self.has_events() { self.next_of_batch(shared) } else { None }
    }

    fn next_of_batch(&self, shared: &Shared) -> Option<DueCallback> {
        loop {
            let ready = match self.steps.get().split() {
                Some((step, rest)) => {
                    self.steps.set(rest);
                    self.resume(shared, step)
                }
                None => {
                    let event = self.take_event()?;
                    self.begin(shared, event)
                }
            };
            if ready.is_some() {
                return ready;
            }
        }
    }

    #[inline]
    fn take_event(&self) -> Option<Event> {
        let next = self.next.get();
        if next == self.end.get() {
            return None;
        }
        self.next.set(next + 1);
        self.events.borrow().as_ref()?.get(next)
    }

    /// The first callback for an event. The others are noted.
    #[inline(always)]
    fn begin(&self, shared: &Shared, event: Event) -> Option<DueCallback> {
        self.event.set(event);
        let token = Token(event.token);
        let Some(found) = self.find(shared, token) else {
            self.stale.set(self.stale.get() + 1);
            return None;
        };
        let found = self.validate(shared, token, found)?;
        let steps = Steps::new(event.flags, found.word);
        let is_plain = !steps.is_empty()
            && !event.flags.has(Flags::UNSURE)
            && !found.word.interest().is_one_shot()
            && !found.word.is_muted();
        let steps = if is_plain { steps } else { self.begin_unusual(shared, token, &found) };
        let (step, rest) = steps.split()?;
        self.steps.set(rest);
        Some(self.ready(token, found, step))
    }

    /// An event that the backend is not sure of, that is for nobody, or that changes the registration.
    #[cold]
    fn begin_unusual(&self, shared: &Shared, token: Token, found: &Found) -> Steps {
        let Found { word, fd, .. } = *found;
        let mut event = self.event.get();
        if event.flags.has(Flags::UNSURE) {
            // SAFETY: the number came from a descriptor, so it is not -1; if it was closed, the system says so.
            let Some(flags) = sys::ask(unsafe { BorrowedFd::borrow_raw(fd) }, event.flags) else {
                drop_isolated(shared.unregister_token(fd, token));
                return Steps::NONE;
            };
            event.flags = flags;
            self.event.set(event);
        }
        let steps = Steps::new(event.flags, word);
        if steps.is_empty() {
            if event.flags.has(Flags::HANGUP.or(Flags::ERROR)) {
                // Nobody listens, and the system would not stop.
                shared.mute(fd, token, true);
            }
            return steps;
        }
        if word.interest().is_one_shot() {
            return if shared.disarm(fd, token) { steps } else { Steps::NONE };
        }
        if word.is_muted() {
            shared.mute(fd, token, false);
        }
        steps
    }

    /// A further callback for the event that is begun, if nothing has changed that.
    ///
    /// Kept apart, as most events are for one callback.
    #[inline(never)]
    fn resume(&self, shared: &Shared, step: Step) -> Option<DueCallback> {
        let Event { token, flags } = self.event.get();
        let token = Token(token);
        let found = self.find(shared, token);
        let Some(found) = found.and_then(|found| self.validate(shared, token, found)) else {
            self.steps.set(Steps::NONE);
            return None;
        };
        let is_wanted = match step {
            Step::Error => found.word.hears_error(),
            Step::Read => found.word.heard().is_read(),
            Step::Write => found.word.heard().is_write(),
            Step::All => Readiness::new(flags, found.word).is_some(),
        };
        is_wanted.then(|| self.ready(token, found, step))
    }

    #[inline]
    fn ready(&self, token: Token, found: Found, step: Step) -> DueCallback {
        let readiness = match step {
            Step::All => Readiness::new(self.event.get().flags, found.word),
            Step::Error | Step::Read | Step::Write => None,
        };
        DueCallback { token, dispatch: found.dispatch, call: Call { step, readiness } }
    }

    /// A live registration.
    #[inline(always)]
    fn find(&self, shared: &Shared, token: Token) -> Option<Found> {
        if token.index() / Page::LEN >= self.pages.borrow().len() {
            self.pages.replace(shared.io.lock().pages());
        }
        let pages = self.pages.borrow();
        let slot = find(&pages, token.index())?;
        let word = slot.live(token)?;
        // SAFETY: this is the loop's thread.
        let (fd, dispatch) = unsafe { slot.get() }?;
        Some(Found { word, fd, dispatch })
    }

    /// The word of a live registration, in a page that is known.
    #[inline]
    fn live(&self, token: Token) -> Option<Word> {
        find(&self.pages.borrow(), token.index())?.live(token)
    }

    /// Only if the source is still what it was. Otherwise the registration is removed.
    #[inline(always)]
    fn validate(&self, shared: &Shared, token: Token, found: Found) -> Option<Found> {
        // The source is in use, and cannot be taken back meanwhile.
        let is_current = {
            let _running = Running::new(&self.running, token);
            found.dispatch.is_current(found.fd)
        };
        if is_current {
            // As it is after code of the user was run.
            let word = self.live(token)?;
            return Some(Found { word, ..found });
        }
        let fd = found.fd;
        drop_isolated((found, shared.unregister_token(fd, token)));
        None
    }

    /// After a batch.
    ///
    /// An event of a registration that is gone is in the order of things if that was removed after the poll
    /// had begun. If there are more of them than were removed since, the system reports what was removed
    /// before, and will go on.
    #[inline]
    pub(crate) fn finish_batch(&self, shared: &Shared) {
        if shared.io.has_left() || self.stale.get() > 0 {
            self.clean_up(shared);
        }
    }

    /// Kept apart, so that the way past it is short.
    #[inline(never)]
    fn clean_up(&self, shared: &Shared) {
        if shared.io.has_left() {
            shared.take_left().into_iter().for_each(drop_isolated);
        }
        let stale = self.stale.take();
        let ended = shared.io.ended().wrapping_sub(self.ended.get());
        if stale > ended.saturating_mul(sys::EVENTS_EACH) {
            self.silence(shared);
        }
    }

    /// Gets rid of the registrations that only the system knows. If it refuses, which it does for want of
    /// memory or descriptors only, that is tried again, less and less often.
    #[cold]
    fn silence(&self, shared: &Shared) {
        let Backoff { skip, next } = self.backoff.get();
        if skip > 0 {
            self.backoff.set(Backoff { skip: skip - 1, next });
            return;
        }
        self.poller.take();
        self.backoff.set(match shared.rebuild_poller() {
            Ok(()) => Backoff::default(),
            Err(error) => {
                log_isolated(|| {
                    tracing::warn!(%error, "events of a closed descriptor cannot be stopped yet");
                });
                Backoff { skip: next, next: (next * 2 + 1).min(Backoff::MOST) }
            }
        });
    }

    /// Whether a callback of this registration is running.
    pub(crate) fn is_running(&self, token: Token) -> bool {
        self.running.get() == Some(token)
    }

    /// Notes a registration that does not own its source.
    pub(crate) fn note_weak(&self, shared: &Shared, token: Token) {
        let mut weak = self.weak.borrow_mut();
        if weak.len() == weak.capacity() {
            weak.retain(|token| self.find(shared, *token).is_some());
            let len = weak.len();
            weak.reserve(len + 8);
        }
        weak.push(token);
    }

    /// Removes registrations whose source is gone, if it can be that these are all that keeps the loop
    /// alive: nothing would ever tell of them. The first one that does keep it alive is enough to know.
    pub(crate) fn sweep(&self, shared: &Shared) {
        let weak = self.weak.borrow().len();
        if shared.io.referenced() > weak {
            return;
        }
        // The list is not borrowed meanwhile: looking at a source is code of the user, and may panic.
        for index in (0..weak).rev() {
            let token = self.weak.borrow().get(index).copied();
            let Some(token) = token else { continue };
            let found = self.find(shared, token);
            match found.and_then(|found| self.validate(shared, token, found)) {
                Some(found) if found.word.keeps_alive() => return,
                Some(_) => {}
                None => {
                    let mut weak = self.weak.borrow_mut();
                    if weak.get(index) == Some(&token) {
                        weak.swap_remove(index);
                    }
                }
            }
        }
    }

    /// Drops everything.
    pub(crate) fn end(&self, shared: &Shared) {
        self.next.set(0);
        self.end.set(0);
        self.steps.set(Steps::NONE);
        self.poller.take();
        self.pages.take();
        self.weak.take();
        shared.empty_table().into_iter().for_each(drop_isolated);
    }
}

/// What is known of a live registration.
struct Found {
    word: Word,
    fd: RawFd,
    dispatch: Rc<dyn Dispatch>,
}

/// A callback that is to be run.
pub(crate) struct DueCallback {
    token: Token,
    dispatch: Rc<dyn Dispatch>,
    call: Call,
}

impl Run for DueCallback {
    fn run(self, cx: &Cx) {
        let _running = Running::new(&cx.0.watchers.running, self.token);
        self.dispatch.call(cx, self.call);
    }

    fn place(&self) -> Option<&'static Location<'static>> {
        self.dispatch.place()
    }
}

/// Exists while code of the user has the source of a registration.
struct Running<'a>(&'a Cell<Option<Token>>);

impl<'a> Running<'a> {
    fn new(running: &'a Cell<Option<Token>>, token: Token) -> Self {
        running.set(Some(token));
        Self(running)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

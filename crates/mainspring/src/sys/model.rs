//! The poller of the models, under loom: descriptors are numbers that a model makes ready.
//!
//! Between a wait that found something and what the loop does with it, others may change anything. Loom does not
//! try that by itself, because whoever changes a slot loads its word before, by which the loop's own load is
//! forgotten; so there is [a step](Poller::step) to interrupt the loop at.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use super::{Event, Flags};
use crate::Interest;
use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering, lock, wait};

pub(crate) const TOKEN_BITS: u32 = 64;

/// How many events of one descriptor there can be in one wait.
pub(crate) const EVENTS_EACH: usize = 1;

pub(crate) const TELLS_READ_END: bool = false;

// All threads of an execution are one thread of the system, so this is what they share, and what tests that
// run side by side do not.
std::thread_local! {
    /// The descriptors that are readable. They are so whatever pollers come and go.
    static READY: RefCell<Vec<RawFd>> = const { RefCell::new(Vec::new()) };
    /// Every event that was reported, by its token.
    static REPORTED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    /// How many pollers were made, and how many of them there still are.
    static POLLERS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// See the [contract](super). Readiness is an event: whoever is registered when a wait finds it is told, once.
#[derive(Debug)]
pub(crate) struct Poller {
    state: Mutex<State>,
    changed: Condvar,
    steps: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    is_woken: bool,
    registered: Vec<(RawFd, u64, Interest)>,
    /// Tokens that are reported by every wait.
    phantoms: Vec<u64>,
}

impl State {
    fn position(&self, fd: RawFd) -> io::Result<usize> {
        let position = self.registered.iter().position(|entry| entry.0 == fd);
        position.ok_or(io::ErrorKind::NotFound.into())
    }

    /// Reports what is ready.
    fn harvest(&mut self, events: &mut Events) {
        let mut tokens = self.phantoms.clone();
        READY.with_borrow_mut(|ready| {
            for (fd, token, interest) in &mut self.registered {
                let found = ready.iter().position(|ready| ready == fd);
                if let Some(found) = found.filter(|_| interest.is_read()) {
                    ready.remove(found);
                    tokens.push(*token);
                    if interest.is_one_shot() {
                        *interest = Interest::NONE;
                    }
                }
            }
        });
        REPORTED.with_borrow_mut(|reported| reported.extend(&tokens));
        let event = |token| Event { token, flags: Flags::READABLE };
        events.0.extend(tokens.into_iter().map(event));
    }
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        let (made, left) = POLLERS.get();
        POLLERS.set((made + 1, left + 1));
        Ok(Self {
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
            steps: AtomicUsize::new(0),
        })
    }

    /// The end of a wait, and the beginning of a change, are tried in every order. This orders nothing by itself.
    fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        if fd.as_raw_fd() == Self::REFUSED {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.step();
        let mut state = lock(&self.state);
        if state.position(fd.as_raw_fd()).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.registered.push((fd.as_raw_fd(), token, interest));
        self.changed.notify_one();
        Ok(())
    }

    pub(crate) fn modify(
        &self,
        fd: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        self.step();
        let mut state = lock(&self.state);
        let position = state.position(fd.as_raw_fd())?;
        state.registered[position] = (fd.as_raw_fd(), token, interest);
        self.changed.notify_one();
        Ok(())
    }

    pub(crate) fn delete(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.step();
        self.forget(fd.as_raw_fd())
    }

    pub(crate) fn wake(&self) -> io::Result<()> {
        lock(&self.state).is_woken = true;
        self.changed.notify_one();
        Ok(())
    }

    pub(crate) fn wait(&self, events: &mut Events, deadline: Option<i64>) -> io::Result<()> {
        events.0.clear();
        let mut state = lock(&self.state);
        loop {
            state.harvest(events);
            // Time does not pass: a wait with a deadline may end at any time.
            if std::mem::take(&mut state.is_woken) || events.len() != 0 || deadline.is_some() {
                break;
            }
            state = wait(&self.changed, state);
        }
        drop(state);
        if events.len() != 0 {
            self.step();
        }
        Ok(())
    }
}

/// For models.
impl Poller {
    /// A descriptor that cannot be polled.
    pub(crate) const REFUSED: RawFd = 1999;

    /// Begins an execution.
    pub(crate) fn begin() {
        READY.take();
        REPORTED.take();
        POLLERS.set((0, 0));
    }

    /// Notes that a descriptor is readable. Who waits is not told: see [`nudge`](Self::nudge).
    pub(crate) fn set_ready(fd: RawFd) {
        READY.with_borrow_mut(|ready| ready.push(fd));
    }

    /// Tells who waits that a descriptor became readable.
    pub(crate) fn nudge(&self) {
        drop(lock(&self.state));
        self.changed.notify_one();
    }

    /// How many events of a registration were reported.
    pub(crate) fn reported(token: u64) -> usize {
        REPORTED.with_borrow(|reported| reported.iter().filter(|other| **other == token).count())
    }

    /// Begins to count them anew.
    pub(crate) fn forget_reported() {
        REPORTED.take();
    }

    /// How many pollers were made.
    pub(crate) fn made() -> usize {
        POLLERS.get().0
    }

    /// How many pollers there are.
    pub(crate) fn count() -> usize {
        POLLERS.get().1
    }

    /// The registration of a descriptor, as the system knows it.
    pub(crate) fn token(&self, fd: RawFd) -> Option<u64> {
        let state = lock(&self.state);
        state.position(fd).ok().map(|position| state.registered[position].1)
    }

    /// Removes a descriptor, as closing it does.
    pub(crate) fn forget(&self, fd: RawFd) -> io::Result<()> {
        let mut state = lock(&self.state);
        let position = state.position(fd)?;
        state.registered.remove(position);
        Ok(())
    }

    /// Reports a token again and again from now on.
    pub(crate) fn haunt(&self, token: u64) {
        lock(&self.state).phantoms.push(token);
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        let (made, left) = POLLERS.get();
        POLLERS.set((made, left - 1));
    }
}

/// The buffer of a wait.
#[derive(Debug)]
pub(crate) struct Events(Vec<Event>);

impl Events {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<Event> {
        self.0.get(index).copied()
    }
}

/// A model is never unsure.
pub(crate) fn ask(_fd: BorrowedFd<'_>, flags: Flags) -> Option<Flags> {
    Some(flags)
}

//! The poller of the models, under loom: descriptors are numbers that a model makes ready.
//!
//! # How it is weaker than it could be
//!
//! A poller of the system promises no memory ordering between `add` and the event that follows, so this one
//! gives none either: what is registered and what is ready is kept where loom does not see it, and a wait that
//! finds something at once returns without having taken a lock. So a registration must be published by the
//! slot's own word. A wait that blocks is ordered by the lock, without which loom cannot block.
//!
//! Loom switches between threads at its own primitives only, so each operation has [a step](Poller::step) that
//! says where it takes place.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use super::{Event, Flags};
use crate::Interest;
use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering, lock};

pub(crate) const TOKEN_BITS: u32 = 64;

// All threads of an execution are one thread of the system, so this is what they share, and what tests that
// run side by side do not.
std::thread_local! {
    /// The descriptors that are readable. They are so whatever pollers come and go.
    static READY: RefCell<Vec<RawFd>> = const { RefCell::new(Vec::new()) };
    /// Every event that was reported, by its token.
    static REPORTED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    /// How many pollers there are.
    static POLLERS: Cell<usize> = const { Cell::new(0) };
}

/// See the [contract](super). Readiness is an event: whoever is registered when a wait finds it is told, once.
#[derive(Debug)]
pub(crate) struct Poller {
    registered: std::sync::Mutex<Registered>,
    steps: AtomicUsize,
    is_woken: Mutex<bool>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Registered {
    fds: Vec<(RawFd, u64, Interest)>,
    /// Tokens that are reported by every wait.
    phantoms: Vec<u64>,
}

impl Registered {
    fn position(&self, fd: RawFd) -> Option<usize> {
        self.fds.iter().position(|entry| entry.0 == fd)
    }

    fn is_empty(&self) -> bool {
        self.fds.is_empty() && self.phantoms.is_empty()
    }

    /// Reports what is ready.
    fn harvest(&mut self, events: &mut Events) -> bool {
        let report = |token| {
            REPORTED.with_borrow_mut(|reported| reported.push(token));
            events.0.push(Event { token, flags: Flags::READABLE });
        };
        let mut tokens = self.phantoms.clone();
        READY.with_borrow_mut(|ready| {
            for (fd, token, interest) in &mut self.fds {
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
        tokens.into_iter().for_each(report);
        events.len() != 0
    }
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        POLLERS.set(POLLERS.get() + 1);
        Ok(Self {
            registered: std::sync::Mutex::default(),
            steps: AtomicUsize::new(0),
            is_woken: Mutex::new(false),
            changed: Condvar::new(),
        })
    }

    /// An operation takes place here. It orders nothing.
    fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    fn registered(&self) -> std::sync::MutexGuard<'_, Registered> {
        self.registered.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Has a wait that blocks look again.
    fn changed(&self) {
        drop(lock(&self.is_woken));
        self.changed.notify_one();
    }

    pub(crate) fn add(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        self.step();
        {
            let mut registered = self.registered();
            if registered.position(fd.as_raw_fd()).is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            registered.fds.push((fd.as_raw_fd(), token, interest));
        }
        self.changed();
        Ok(())
    }

    pub(crate) fn modify(
        &self,
        fd: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        self.step();
        {
            let mut registered = self.registered();
            let position = registered.position(fd.as_raw_fd()).ok_or(io::ErrorKind::NotFound)?;
            registered.fds[position] = (fd.as_raw_fd(), token, interest);
        }
        self.changed();
        Ok(())
    }

    pub(crate) fn delete(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.step();
        self.forget(fd.as_raw_fd())
    }

    pub(crate) fn wake(&self) -> io::Result<()> {
        *lock(&self.is_woken) = true;
        self.changed.notify_one();
        Ok(())
    }

    pub(crate) fn wait(&self, events: &mut Events, deadline: Option<i64>) -> io::Result<()> {
        events.0.clear();
        // Without this condition loops that use no descriptors would take a step more each time they sleep.
        if !self.registered().is_empty() {
            self.step();
            if self.registered().harvest(events) {
                // A wake that came before is left to end the next wait early.
                return Ok(());
            }
        }
        let mut is_woken = lock(&self.is_woken);
        loop {
            let has_events = self.registered().harvest(events);
            // Time does not pass: a wait with a deadline may end at any time.
            if std::mem::take(&mut *is_woken) || has_events || deadline.is_some() {
                return Ok(());
            }
            is_woken = self.changed.wait(is_woken).unwrap_or_else(|e| e.into_inner());
        }
    }
}

/// For models.
impl Poller {
    /// Begins an execution.
    pub(crate) fn begin() {
        READY.take();
        REPORTED.take();
        POLLERS.set(0);
    }

    /// Notes that a descriptor is readable. Who waits is not told: see [`nudge`](Self::nudge).
    pub(crate) fn set_ready(fd: RawFd) {
        READY.with_borrow_mut(|ready| ready.push(fd));
    }

    /// Tells who waits that a descriptor became readable.
    pub(crate) fn nudge(&self) {
        self.step();
        self.changed();
    }

    /// How many events of a registration were reported.
    pub(crate) fn reported(token: u64) -> usize {
        REPORTED.with_borrow(|reported| reported.iter().filter(|other| **other == token).count())
    }

    /// How many pollers there are.
    pub(crate) fn count() -> usize {
        POLLERS.get()
    }

    /// The registration of a descriptor, as the system knows it.
    pub(crate) fn token(&self, fd: RawFd) -> Option<u64> {
        let registered = self.registered();
        registered.position(fd).map(|position| registered.fds[position].1)
    }

    /// Removes a descriptor, as closing it does.
    pub(crate) fn forget(&self, fd: RawFd) -> io::Result<()> {
        let mut registered = self.registered();
        let position = registered.position(fd).ok_or(io::ErrorKind::NotFound)?;
        registered.fds.remove(position);
        Ok(())
    }

    /// Reports a token again and again from now on.
    pub(crate) fn haunt(&self, token: u64) {
        self.registered().phantoms.push(token);
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        POLLERS.set(POLLERS.get() - 1);
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
pub(crate) fn ask(_fd: BorrowedFd<'_>, flags: Flags) -> Flags {
    flags
}

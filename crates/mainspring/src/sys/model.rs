//! The poller of the models, under loom: descriptors are numbers that a model makes ready.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use super::{Event, Flags};
use crate::Interest;
use crate::sync::{Condvar, Mutex, lock};

pub(crate) const TOKEN_BITS: u32 = 64;

/// See the [contract](super). Everything is level-triggered, except that a wait reports each event once.
#[derive(Debug)]
pub(crate) struct Poller {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_woken: bool,
    registered: Vec<(RawFd, u64, Interest)>,
    ready: Vec<RawFd>,
}

impl State {
    fn position(&self, fd: BorrowedFd<'_>) -> Option<usize> {
        self.registered.iter().position(|entry| entry.0 == fd.as_raw_fd())
    }
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { state: Mutex::new(State::default()), changed: Condvar::new() })
    }

    pub(crate) fn add(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        let mut state = lock(&self.state);
        if state.position(fd).is_some() {
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
        let mut state = lock(&self.state);
        let position = state.position(fd).ok_or(io::ErrorKind::NotFound)?;
        state.registered[position] = (fd.as_raw_fd(), token, interest);
        self.changed.notify_one();
        Ok(())
    }

    pub(crate) fn delete(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let mut state = lock(&self.state);
        let position = state.position(fd).ok_or(io::ErrorKind::NotFound)?;
        state.registered.remove(position);
        Ok(())
    }

    /// Makes a descriptor readable, once.
    pub(crate) fn make_ready(&self, fd: RawFd) {
        lock(&self.state).ready.push(fd);
        self.changed.notify_one();
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
            let State { registered, ready, .. } = &mut *state;
            registered.retain(|(fd, token, interest)| {
                let found = ready.iter().position(|ready| ready == fd);
                if let Some(found) = found.filter(|_| interest.is_read()) {
                    ready.remove(found);
                    events.0.push(Event { token: *token, flags: Flags::READABLE });
                }
                true
            });
            if std::mem::take(&mut state.is_woken) || events.len() != 0 || deadline.is_some() {
                // Time does not pass: a wait with a deadline may end at any time.
                return Ok(());
            }
            state = self.changed.wait(state).unwrap_or_else(|e| e.into_inner());
        }
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

//! The poller of everything but Linux, on the `polling` crate: kqueue, event ports, IOCP. It can be forced on
//! Linux by `--cfg mainspring_portable`, where it passes the same tests.
//!
//! # What differs
//!
//! * **System calls.** The crate sets its timer and rearms its notification at every wait, so a wait costs
//!   up to five calls instead of one.
//! * **Hang-ups and errors.** The crate says "readable" and "writable" for both. So with each of them the
//!   loop asks `poll` once more what is the case ([`ask`]), where the system has it.
//! * **Out-of-band data** counts as readable.
//! * **Tokens** have as many bits as a pointer. With 32 a slot of the table is used up sooner.
//! * **A closed descriptor** that was not unregistered: only epoll knows that its number belongs to somebody
//!   else now. Elsewhere registering that number is refused until the old registration was removed, or
//!   replaced by `watch`.
//! * **Edges.** Where the system has no edge-triggered or level-triggered interest, registering one is
//!   refused with an error that says so. Windows has no edges; descriptors of futures are armed by whoever waits there.
//! * **Sockets** are all that there is on Windows.
//! * **Regular files** are refused by epoll only.
//! * **The end of what can be read** is not told before it is met, so a stream is read once more than on Linux
//!   before it is waited for.
//!
//! Everything else is the same: what is registered takes effect while the loop waits, no wake is lost, a
//! deadline is not missed by a nanosecond to the early side.

use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::time::Duration;

use polling::PollMode;

#[cfg(test)]
use super::faults::{self, Call};
use super::{AT_ONCE, BorrowedFd, Event, Flags};
use crate::Interest;

/// The crate keeps the greatest number for itself.
pub(crate) const TOKEN_BITS: u32 = usize::BITS;

/// How many events of one descriptor there can be in one wait: kqueue reports the directions one by one.
pub(crate) const EVENTS_EACH: usize = 2;

/// The crate does not say [`Flags::READ_END`].
pub(crate) const TELLS_READ_END: bool = false;

/// Where the crate has edge-triggered interest: with epoll and kqueue.
pub(crate) const HAS_EDGES: bool =
    !cfg!(any(windows, target_os = "solaris", target_os = "illumos"));

/// How many events one wait can return.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// See the [contract](super).
#[derive(Debug)]
pub(crate) struct Poller(polling::Poller);

/// Makes a call that is interrupted again.
fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        uninterrupted(|| {
            #[cfg(test)]
            faults::check(Call::Poller)?;
            Ok(Self(polling::Poller::new()?))
        })
    }

    /// What the crate is to be told.
    fn request(&self, token: u64, interest: Interest) -> io::Result<(polling::Event, PollMode)> {
        let key = usize::try_from(token).map_err(io::Error::other)?;
        let mut event = polling::Event::new(key, interest.is_read(), interest.is_write());
        if !HAS_EDGES && !interest.is_read() && !interest.is_write() {
            // What is told nobody, the crate asks for again at once, for ever. So a reset is told, once.
            event.set_interrupt(true);
            return Ok((event, PollMode::Oneshot));
        }
        let mode = match (interest.is_edge_triggered(), interest.is_one_shot()) {
            (false, false) => PollMode::Level,
            (true, false) => PollMode::Edge,
            (false, true) => PollMode::Oneshot,
            (true, true) => PollMode::EdgeOneshot,
        };
        let is_supported = match mode {
            PollMode::Level => self.0.supports_level(),
            PollMode::Edge | PollMode::EdgeOneshot => self.0.supports_edge(),
            _ => true,
        };
        if is_supported {
            Ok((event, mode))
        } else {
            Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this system's poller has one-shot interest only; ask for that",
            ))
        }
    }

    /// Readable when a wait would return at once, the deadline aside.
    #[cfg(target_os = "linux")]
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        self.0.as_fd()
    }

    pub(crate) fn add(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        let (event, mode) = self.request(token, interest)?;
        uninterrupted(|| {
            #[cfg(test)]
            faults::check(Call::Add)?;
            // SAFETY: the crate asks for the descriptor to be deleted before it is closed, because it cannot
            // know that the systems forget one that is closed. The table relies on no more than that: it
            // deletes what it can, and at the end of the loop closes the poller soon after the rest.
            unsafe { self.0.add_with_mode(&fd, event, mode) }
        })
    }

    pub(crate) fn modify(
        &self,
        fd: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let (event, mode) = self.request(token, interest)?;
        uninterrupted(|| {
            #[cfg(test)]
            faults::check(Call::Modify)?;
            self.0.modify_with_mode(fd, event, mode)
        })
    }

    pub(crate) fn delete(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        uninterrupted(|| {
            #[cfg(test)]
            faults::check(Call::Delete)?;
            self.0.delete(fd)
        })
    }

    pub(crate) fn wake(&self) -> io::Result<()> {
        uninterrupted(|| {
            #[cfg(test)]
            faults::check(Call::Write)?;
            self.0.notify()
        })
    }

    pub(crate) fn wait(&self, events: &mut Events, deadline: Option<i64>) -> io::Result<()> {
        events.list.clear();
        events.found.clear();
        let timeout = match deadline {
            None => None,
            Some(AT_ONCE) => Some(Duration::ZERO),
            Some(deadline) => {
                let left = deadline.saturating_sub(super::now()).max(0);
                Some(Duration::from_nanos(left.unsigned_abs()))
            }
        };
        uninterrupted(|| {
            #[cfg(test)]
            faults::check(Call::Wait)?;
            self.0.wait(&mut events.found, timeout)
        })?;
        events.list.extend(events.found.iter().map(|event| {
            let is_hangup = event.is_interrupt();
            // A connection that is reset has failed. Windows calls that the one, and others call it both.
            let is_error = event.is_err().unwrap_or(false) || cfg!(windows) && is_hangup;
            let flags = Flags::READABLE
                .when(event.readable)
                .or(Flags::WRITABLE.when(event.writable))
                .or(Flags::ERROR.when(is_error))
                .or(Flags::HANGUP.when(is_hangup))
                .or(Flags::UNSURE.when(is_error || is_hangup));
            Event { token: event.key as u64, flags }
        }));
        Ok(())
    }
}

/// The buffers of a wait, allocated once.
pub(crate) struct Events {
    found: polling::Events,
    list: Vec<Event>,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self {
            found: polling::Events::with_capacity(CAPACITY),
            list: Vec::with_capacity(CAPACITY.get()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<Event> {
        self.list.get(index).copied()
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// What is the case with a descriptor about which an event was not sure. None if it is not open.
pub(crate) fn ask(fd: BorrowedFd<'_>, flags: Flags) -> Option<Flags> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let asked = PollFlags::IN | PollFlags::OUT;
    let mut fds = [PollFd::from_borrowed_fd(fd, asked)];
    if poll(&mut fds, Some(&Timespec::default())).is_err() {
        return Some(flags);
    }
    let found = fds[0].revents();
    if found.contains(PollFlags::NVAL) {
        return None;
    }
    // The event is sure of errors and hang-ups, and it counts even if they are over by now.
    let sure = |flag: Flags| flag.when(flags.has(flag));
    let flags = Flags::READABLE
        .when(found.contains(PollFlags::IN))
        .or(Flags::WRITABLE.when(found.contains(PollFlags::OUT)))
        .or(sure(Flags::ERROR))
        .or(sure(Flags::HANGUP));
    Some(flags)
}

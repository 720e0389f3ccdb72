//! The poller of Linux: epoll, with an eventfd to be woken by, and a timerfd for the deadline.
//!
//! Both of its own descriptors are polled edge-triggered. So neither needs to be read: a wake costs one
//! system call of the waker and none of the loop, and each further write or expiration is an edge of its
//! own. The harvest of the edge is what consumes a wake.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, EventFlags};

use super::call::{self, uninterrupted};
use super::timerfd::Timer;
use super::{AT_ONCE, Event, Flags};
use crate::Interest;

/// All bits of a token come back.
pub(crate) const TOKEN_BITS: u32 = 64;

/// How many events of one descriptor there can be in one wait.
pub(crate) const EVENTS_EACH: usize = 1;

/// Whether [`Flags::READ_END`] is said to those who ask.
pub(crate) const TELLS_READ_END: bool = true;

/// See the [contract](super).
pub(crate) const HAS_EDGES: bool = true;

/// The tokens of the own descriptors. The table's are smaller.
const WAKE: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;

const _: () = {
    let flags = [
        (Flags::READABLE, EventFlags::IN),
        (Flags::WRITABLE, EventFlags::OUT),
        (Flags::ERROR, EventFlags::ERR),
        (Flags::HANGUP, EventFlags::HUP),
        (Flags::READ_END, EventFlags::RDHUP),
        (Flags::READ_END, EventFlags::PRI),
    ];
    let mut index = 0;
    while index < flags.len() {
        let (flag, bit) = flags[index];
        assert!(Flags::from_epoll(bit.bits()).has(flag));
        index += 1;
    }
};

/// How many events one wait can return.
const CAPACITY: usize = 1024;

/// See the [contract](super).
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    wake: OwnedFd,
    timer: Timer,
}

fn flags_of(interest: Interest) -> EventFlags {
    let mut flags = EventFlags::empty();
    flags.set(EventFlags::IN, interest.is_read());
    flags.set(EventFlags::OUT, interest.is_write());
    flags.set(EventFlags::RDHUP | EventFlags::PRI, interest.is_read_end());
    flags.set(EventFlags::ET, interest.is_edge_triggered());
    flags.set(EventFlags::ONESHOT, interest.is_one_shot());
    flags
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        let poller = Self {
            epoll: uninterrupted(call::epoll)?,
            wake: uninterrupted(call::eventfd)?,
            timer: Timer::new()?,
        };
        let edges = EventFlags::IN | EventFlags::ET;
        for (fd, token) in [(poller.wake.as_fd(), WAKE), (poller.timer.as_fd(), TIMER)] {
            uninterrupted(|| call::add(&poller.epoll, fd, token, edges))?;
        }
        Ok(poller)
    }

    /// Readable when a wait would return at once, the deadline aside.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    pub(crate) fn add(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        uninterrupted(|| call::add(&self.epoll, fd, token, flags_of(interest)))
    }

    pub(crate) fn modify(
        &self,
        fd: BorrowedFd<'_>,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        uninterrupted(|| call::modify(&self.epoll, fd, token, flags_of(interest)))
    }

    pub(crate) fn delete(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        uninterrupted(|| call::delete(&self.epoll, fd))
    }

    pub(crate) fn wake(&self) -> io::Result<()> {
        match uninterrupted(|| call::write(&self.wake, &1_u64.to_ne_bytes())) {
            // The counter is at its maximum, which takes 2^64 wakes or a stranger. A stranger's write was an
            // edge as well.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            result => result.map(drop),
        }
    }

    pub(crate) fn wait(&self, events: &mut Events, deadline: Option<i64>) -> io::Result<()> {
        events.0.clear();
        if deadline == Some(AT_ONCE) {
            return self.harvest(events, true).map(drop);
        }
        loop {
            self.timer.prepare(deadline)?;
            let is_woken = self.harvest(events, false)?;
            // The timer may have been armed for an earlier deadline than this one.
            let is_over = || deadline.is_some_and(|deadline| deadline <= super::now());
            if is_woken || !events.0.is_empty() || is_over() {
                return Ok(());
            }
        }
    }

    /// Returns whether there was a wake. The events of the own descriptors are not left in the buffer.
    fn harvest(&self, events: &mut Events, at_once: bool) -> io::Result<bool> {
        uninterrupted(|| call::wait(&self.epoll, &mut events.0, at_once))?;
        let mut is_woken = false;
        events.0.retain(|event| match event.data.u64() {
            WAKE => {
                is_woken = true;
                false
            }
            TIMER => {
                self.timer.expire();
                false
            }
            _ => true,
        });
        Ok(is_woken)
    }
}

/// The buffer of a wait, allocated once.
pub(crate) struct Events(Vec<epoll::Event>);

impl Events {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(CAPACITY))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<Event> {
        let epoll::Event { flags, data } = *self.0.get(index)?;
        Some(Event { token: data.u64(), flags: Flags::from_epoll(flags.bits()) })
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Epoll is never unsure.
pub(crate) fn ask(_fd: BorrowedFd<'_>, flags: Flags) -> Option<Flags> {
    Some(flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;
    use crate::sys::faults::{Call, clear, inject};
    use rustix::io::Errno;

    fn poller() -> (Poller, Events) {
        (Poller::new().unwrap(), Events::new())
    }

    fn soon() -> Option<i64> {
        Some(sys::now() + 1_000_000)
    }

    /// Whether a wake is left.
    fn is_woken(poller: &Poller) -> bool {
        poller.harvest(&mut Events::new(), true).unwrap()
    }

    // spec: WK-4, D07
    #[test]
    fn an_interrupted_wake_is_made_again() {
        let (poller, _) = poller();
        inject(Call::Write, Errno::INTR);
        inject(Call::Write, Errno::INTR);
        poller.wake().unwrap();
        assert_eq!(clear(), 0);
        assert!(is_woken(&poller));
    }

    // spec: WK-4, D07
    #[test]
    fn a_wake_that_finds_the_counter_full_is_unnecessary() {
        let (poller, mut events) = poller();
        rustix::io::write(&poller.wake, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        poller.wake().unwrap();
        poller.wait(&mut events, None).unwrap();
    }

    // spec: WK-5
    #[test]
    fn an_interrupted_harvest_is_made_again_and_loses_no_wake() {
        let (poller, mut events) = poller();
        poller.wake().unwrap();
        inject(Call::Wait, Errno::INTR);
        poller.wait(&mut events, None).unwrap();
        assert_eq!(clear(), 0);
        assert!(!is_woken(&poller));
    }

    // spec: WK-5
    #[test]
    fn a_harvest_that_fails_is_an_error_and_the_wake_is_still_there() {
        let (poller, mut events) = poller();
        poller.wake().unwrap();
        inject(Call::Wait, Errno::NOMEM);
        assert!(poller.wait(&mut events, soon()).is_err());
        assert!(is_woken(&poller));
    }

    // A finite wait that is interrupted keeps its deadline.
    #[test]
    fn interruptions_do_not_prolong_a_wait() {
        let (poller, mut events) = poller();
        for _ in 0..100 {
            inject(Call::Wait, Errno::INTR);
        }
        let deadline = sys::now() + 2_000_000;
        poller.wait(&mut events, Some(deadline)).unwrap();
        assert_eq!(clear(), 0);
        assert!(sys::now() >= deadline, "and it does not end early either");
    }

    #[test]
    fn a_timer_that_was_armed_for_an_earlier_deadline_does_not_end_a_later_wait() {
        let (poller, mut events) = poller();
        poller.timer.prepare(soon()).unwrap();
        let deadline = sys::now() + 3_000_000;
        poller.wait(&mut events, Some(deadline)).unwrap();
        assert!(sys::now() >= deadline);
    }
}

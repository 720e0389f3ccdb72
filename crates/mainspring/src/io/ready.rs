//! What a descriptor is ready for, as far as is known, and who waits for it.
//!
//! # The flags
//!
//! | flag         | set                                           | cleared                                      |
//! |--------------|-----------------------------------------------|----------------------------------------------|
//! | `READ`       | at first, and by an event                     | when reading would block, or was short; at a pause |
//! | `WRITE`      | at first, and by an event                     | when writing would block, or was short       |
//! | `SEEN_END`   | by an event that tells of an end or an error  | never                                        |
//! | `LOST`       | when the registration is gone                 | never                                        |
//!
//! A flag that is set wrongly costs one call that would block. One that is cleared wrongly would be a wake-up
//! that never comes; so it is cleared only by an answer of the system after which there will be another edge:
//!
//! 1. An operation would block. What changes that is an edge.
//! 2. A stream was read, and less came than there was room for. So it was empty at that moment, and what comes
//!    next is an edge: data, or the end. If the end was there already, then it came after the harvest of the
//!    last event, and its own edge is not harvested yet; or that event told of it, and `SEEN_END` is set. This
//!    takes a backend that [tells](crate::sys::TELLS_READ_END).
//! 3. A stream was written to, and less was taken than was offered. So it was full.
//!
//! Events that were harvested before the answer and are delivered after it set a flag wrongly, as above.
//!
//! Where the system has [no edges](crate::sys::HAS_EDGES), the registration is one-shot, and whoever begins to wait arms
//! it for all that is not known to be ready, and does not pause. An event disarms it for both directions, so it sets
//! both flags: who still has to wait finds out by trying, and arms it again.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

use super::slot::{Call, Dispatch};
use crate::Cx;
use crate::future::wake_isolated;
use crate::sys::{HAS_EDGES, RawFd, TELLS_READ_END};

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// More tasks than this do not poll one direction of a descriptor, unless most of them have given up.
const MOST_SHARED: usize = 64;

const READ: u8 = 1;
const WRITE: u8 = 1 << 1;
const SEEN_END: u8 = 1 << 2;
const LOST: u8 = 1 << 3;

impl Direction {
    const fn flag(self) -> u8 {
        match self {
            Self::Read => READ,
            Self::Write => WRITE,
        }
    }
}

/// See the [module documentation](self).
#[derive(Debug)]
pub(super) struct Ready {
    flags: Cell<u8>,
    tickets: Cell<u64>,
    /// Whether reading pauses, until a timer.
    pub(super) is_paused: Cell<bool>,
    readers: RefCell<Waiters>,
    writers: RefCell<Waiters>,
}

impl Ready {
    pub(super) fn new() -> Self {
        Self {
            flags: Cell::new(READ | WRITE),
            tickets: Cell::new(0),
            is_paused: Cell::new(false),
            readers: RefCell::default(),
            writers: RefCell::default(),
        }
    }

    fn has(&self, flags: u8) -> bool {
        self.flags.get() & flags != 0
    }

    fn set(&self, flags: u8) {
        self.flags.set(self.flags.get() | flags);
    }

    /// Whether an operation is worth a try.
    #[inline]
    pub(super) fn is_ready(&self, direction: Direction) -> bool {
        self.has(direction.flag() | LOST)
    }

    /// Whether there will be no events any more.
    pub(super) fn is_lost(&self) -> bool {
        self.has(LOST)
    }

    /// An operation would block.
    pub(super) fn clear(&self, direction: Direction) {
        self.flags.set(self.flags.get() & !direction.flag());
    }

    /// A stream took or gave less than it was asked for.
    #[inline]
    pub(super) fn clear_short(&self, direction: Direction) {
        if TELLS_READ_END && !self.has(SEEN_END) {
            self.clear(direction);
        }
    }

    /// Has those who wait try again, as an event would.
    pub(super) fn nudge(&self, direction: Direction) {
        self.set(direction.flag());
        self.wake(direction);
    }

    fn waiters(&self, direction: Direction) -> &RefCell<Waiters> {
        match direction {
            Direction::Read => &self.readers,
            Direction::Write => &self.writers,
        }
    }

    /// Has a task woken at the next event.
    pub(super) fn wait(&self, direction: Direction, ticket: &mut Ticket, waker: &Waker) {
        if ticket.is_unused() {
            self.tickets.set(self.tickets.get() + 1);
            *ticket = Ticket(self.tickets.get());
        }
        let waiters = self.waiters(direction);
        if waiters.borrow().has(*ticket, waker) {
            return;
        }
        // A waker is code of somebody else: no borrow while it is cloned or dropped.
        let waiter = Waiter { ticket: *ticket, waker: waker.clone() };
        let replaced = waiters.borrow_mut().put(waiter);
        drop(replaced);
        // Who polls and gives up is not known. Those who still wait will ask again.
        if *ticket == Ticket::SHARED && waiters.borrow().more.len() > MOST_SHARED {
            self.wake(direction);
        }
    }

    /// Has a task not woken any more.
    pub(super) fn forget(&self, direction: Direction, ticket: Ticket) {
        let waiter = self.waiters(direction).borrow_mut().take(ticket);
        drop(waiter);
    }

    fn wake(&self, direction: Direction) {
        let waiters = self.waiters(direction);
        let (first, mut more) = waiters.borrow_mut().take_all();
        if let Some(waiter) = first {
            wake_isolated(waiter.waker);
        }
        if more.capacity() != 0 {
            more.drain(..).for_each(|waiter| wake_isolated(waiter.waker));
            waiters.borrow_mut().give_back(more);
        }
    }
}

/// Who waits: a future has a ticket of its own, by which it is found when it is dropped; all calls of a `poll_`
/// method share one, and are told apart by their wakers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

impl Ticket {
    pub(super) const UNUSED: Self = Self(0);
    pub(super) const SHARED: Self = Self(u64::MAX);

    pub(super) fn is_unused(self) -> bool {
        self == Self::UNUSED
    }
}

#[derive(Debug)]
struct Waiter {
    ticket: Ticket,
    waker: Waker,
}

impl Waiter {
    fn is(&self, ticket: Ticket, waker: &Waker) -> bool {
        self.ticket == ticket && (ticket != Ticket::SHARED || self.waker.will_wake(waker))
    }
}

/// Those who wait for one direction. One of them needs no allocation.
#[derive(Debug, Default)]
struct Waiters {
    first: Option<Waiter>,
    more: Vec<Waiter>,
}

impl Waiters {
    /// Whether this one waits already, and would be woken as it wants to be now.
    fn has(&self, ticket: Ticket, waker: &Waker) -> bool {
        let mut all = self.first.iter().chain(&self.more);
        all.any(|waiter| waiter.is(ticket, waker) && waiter.waker.will_wake(waker))
    }

    /// Adds one, or replaces what it was before.
    fn put(&mut self, waiter: Waiter) -> Option<Waiter> {
        let mut all = self.first.iter_mut().chain(&mut self.more);
        if let Some(found) = all.find(|other| other.is(waiter.ticket, &waiter.waker)) {
            return Some(std::mem::replace(found, waiter));
        }
        if self.first.is_none() {
            self.first = Some(waiter);
        } else {
            self.more.push(waiter);
        }
        None
    }

    fn take(&mut self, ticket: Ticket) -> Option<Waiter> {
        if let Some(first) = self.first.take_if(|waiter| waiter.ticket == ticket) {
            return Some(first);
        }
        let position = self.more.iter().position(|waiter| waiter.ticket == ticket)?;
        Some(self.more.swap_remove(position))
    }

    fn take_all(&mut self) -> (Option<Waiter>, Vec<Waiter>) {
        let more = if self.more.is_empty() { Vec::new() } else { std::mem::take(&mut self.more) };
        (self.first.take(), more)
    }

    /// Keeps an allocation for the next time.
    fn give_back(&mut self, empty: Vec<Waiter>) {
        if self.more.capacity() == 0 {
            self.more = empty;
        }
    }
}

/// The loop's reference. Without it there are no events, so whoever waits is told.
pub(super) struct Registered(pub(super) Rc<Ready>);

impl Dispatch for Registered {
    fn is_current(&self, _: RawFd) -> bool {
        // The source removes its registration before it is closed.
        true
    }

    fn call(&self, _: &Cx, call: Call) {
        let Some(readiness) = call.readiness else { return };
        let is_over = readiness.is_hangup() || readiness.is_error();
        if is_over || readiness.is_read_end() {
            self.0.set(SEEN_END);
        }
        if readiness.is_readable() || is_over || !HAS_EDGES {
            self.0.nudge(Direction::Read);
        }
        if readiness.is_writable() || is_over || !HAS_EDGES {
            self.0.nudge(Direction::Write);
        }
    }

    fn into_any(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.0.set(LOST);
        self.0.wake(Direction::Read);
        self.0.wake(Direction::Write);
    }
}

//! Failures that a test injects into the system calls made by its own thread.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use rustix::io::Errno;

/// The calls that a backend makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Poller,
    Eventfd,
    Timerfd,
    Settime,
    Write,
    Wait,
    Add,
    Modify,
    Delete,
}

thread_local! {
    static QUEUE: RefCell<VecDeque<(Call, Errno)>> = const { RefCell::new(VecDeque::new()) };
    /// Calls to go until the one that fails, and what it fails with.
    static AT: Cell<Option<(usize, Errno)>> = const { Cell::new(None) };
    static MADE: Cell<usize> = const { Cell::new(0) };
}

/// The next call of this kind on this thread fails.
pub(crate) fn inject(call: Call, error: Errno) {
    QUEUE.with_borrow_mut(|queue| queue.push_back((call, error)));
}

/// The call on this thread that comes after `skip` others fails, whichever it is.
pub(crate) fn inject_at(skip: usize, error: Errno) {
    AT.set(Some((skip, error)));
}

/// Forgets what was not used. Returns how many that were.
pub(crate) fn clear() -> usize {
    QUEUE.with_borrow_mut(|queue| queue.drain(..).count()) + usize::from(AT.take().is_some())
}

/// How many calls were made on this thread so far.
pub(crate) fn made() -> usize {
    MADE.get()
}

pub(super) fn check(call: Call) -> rustix::io::Result<()> {
    MADE.set(MADE.get() + 1);
    match AT.take() {
        Some((0, error)) => return Err(error),
        Some((skip, error)) => AT.set(Some((skip - 1, error))),
        None => {}
    }
    QUEUE.with_borrow_mut(|queue| {
        let position = queue.iter().position(|entry| entry.0 == call);
        position.and_then(|position| queue.remove(position)).map_or(Ok(()), |entry| Err(entry.1))
    })
}

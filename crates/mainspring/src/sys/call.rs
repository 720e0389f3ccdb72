//! The system calls of this backend. A test can make the next ones fail.

use std::os::fd::OwnedFd;

use rustix::event::{EventfdFlags, PollFd};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};

#[inline]
pub(super) fn eventfd(initial: u32, flags: EventfdFlags) -> rustix::io::Result<OwnedFd> {
    #[cfg(test)]
    if let Some(result) = faults::take(faults::Call::Eventfd) {
        result?;
    }
    rustix::event::eventfd(initial, flags)
}

#[inline]
pub(super) fn write(fd: &OwnedFd, bytes: &[u8]) -> rustix::io::Result<usize> {
    #[cfg(test)]
    if let Some(result) = faults::take(faults::Call::Write) {
        return result;
    }
    rustix::io::write(fd, bytes)
}

#[inline]
pub(super) fn read(fd: &OwnedFd, bytes: &mut [u8; 8]) -> rustix::io::Result<usize> {
    #[cfg(test)]
    if let Some(result) = faults::take(faults::Call::Read) {
        return result;
    }
    rustix::io::read(fd, bytes)
}

#[inline]
pub(super) fn poll(fds: &mut [PollFd<'_>]) -> rustix::io::Result<usize> {
    #[cfg(test)]
    if let Some(result) = faults::take(faults::Call::Poll) {
        return result;
    }
    rustix::event::poll(fds, None)
}

#[inline]
pub(super) fn timerfd(flags: TimerfdFlags) -> rustix::io::Result<OwnedFd> {
    #[cfg(test)]
    if let Some(result) = faults::take(faults::Call::Timerfd) {
        result?;
    }
    rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)
}

#[inline]
pub(super) fn settime(fd: &OwnedFd, at: &Itimerspec) -> rustix::io::Result<()> {
    #[cfg(test)]
    if let Some(result) = faults::take(faults::Call::Settime) {
        result?;
    }
    rustix::time::timerfd_settime(fd, TimerfdTimerFlags::ABSTIME, at)?;
    Ok(())
}

/// Failures that a test injects into the calls made by its own thread.
#[cfg(test)]
pub(crate) mod faults {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Call {
        Eventfd,
        Timerfd,
        Settime,
        Write,
        Read,
        Poll,
    }

    type Result = rustix::io::Result<usize>;

    std::thread_local! {
        static QUEUE: RefCell<VecDeque<(Call, Result)>> = const { RefCell::new(VecDeque::new()) };
    }

    /// The next call of this kind on this thread has this result instead of being made.
    pub(crate) fn inject(call: Call, result: Result) {
        QUEUE.with_borrow_mut(|queue| queue.push_back((call, result)));
    }

    pub(super) fn take(call: Call) -> Option<Result> {
        QUEUE.with_borrow_mut(|queue| {
            let position = queue.iter().position(|entry| entry.0 == call)?;
            queue.remove(position).map(|entry| entry.1)
        })
    }

    /// How many injected results were not used.
    pub(crate) fn left() -> usize {
        QUEUE.with_borrow(VecDeque::len)
    }
}

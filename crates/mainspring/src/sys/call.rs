//! The system calls of the Linux backend. A test can make each of them fail, and a simulation answers them itself.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, epoll};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};

#[cfg(test)]
use super::faults::{self, Call};
#[cfg(feature = "sim")]
use crate::sim::kernel;

type Result<T> = rustix::io::Result<T>;

/// Returns what the simulation answers, if this is in one.
macro_rules! simulated {
    ($call:expr) => {
        #[cfg(feature = "sim")]
        if let Some(answer) = kernel::answer($call) {
            return answer;
        }
    };
}

/// Makes a call that is interrupted again.
pub(super) fn uninterrupted<T>(mut call: impl FnMut() -> Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}

pub(super) fn eventfd() -> Result<OwnedFd> {
    simulated!(kernel::eventfd);
    #[cfg(test)]
    faults::check(Call::Eventfd)?;
    rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
}

#[inline]
pub(super) fn write(fd: &OwnedFd, bytes: &[u8]) -> Result<usize> {
    simulated!(|it| kernel::write(it, fd, bytes));
    #[cfg(test)]
    faults::check(Call::Write)?;
    rustix::io::write(fd, bytes)
}

pub(super) fn timerfd() -> Result<OwnedFd> {
    simulated!(kernel::timerfd);
    #[cfg(test)]
    faults::check(Call::Timerfd)?;
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)
}

#[inline]
pub(super) fn settime(fd: &OwnedFd, at: &Itimerspec) -> Result<()> {
    simulated!(|it| kernel::settime(it, fd, at));
    #[cfg(test)]
    faults::check(Call::Settime)?;
    rustix::time::timerfd_settime(fd, TimerfdTimerFlags::ABSTIME, at)?;
    Ok(())
}

pub(super) fn epoll() -> Result<OwnedFd> {
    simulated!(kernel::epoll);
    #[cfg(test)]
    faults::check(Call::Poller)?;
    epoll::create(epoll::CreateFlags::CLOEXEC)
}

/// Fills what is free in the list.
#[inline]
pub(super) fn wait(fd: &OwnedFd, list: &mut Vec<epoll::Event>, at_once: bool) -> Result<()> {
    simulated!(|it| kernel::wait(it, fd, list, at_once));
    #[cfg(test)]
    faults::check(Call::Wait)?;
    let zero = rustix::event::Timespec::default();
    epoll::wait(fd, spare_capacity(list), at_once.then_some(&zero))?;
    Ok(())
}

pub(super) fn add(
    epoll: &OwnedFd,
    fd: BorrowedFd<'_>,
    token: u64,
    flags: epoll::EventFlags,
) -> Result<()> {
    simulated!(|it| kernel::add(it, epoll, fd, token, flags));
    #[cfg(test)]
    faults::check(Call::Add)?;
    epoll::add(epoll, fd, epoll::EventData::new_u64(token), flags)
}

pub(super) fn modify(
    epoll: &OwnedFd,
    fd: BorrowedFd<'_>,
    token: u64,
    flags: epoll::EventFlags,
) -> Result<()> {
    simulated!(|it| kernel::modify(it, epoll, fd, token, flags));
    #[cfg(test)]
    faults::check(Call::Modify)?;
    epoll::modify(epoll, fd, epoll::EventData::new_u64(token), flags)
}

pub(super) fn delete(epoll: &OwnedFd, fd: BorrowedFd<'_>) -> Result<()> {
    simulated!(|it| kernel::delete(it, epoll, fd));
    #[cfg(test)]
    faults::check(Call::Delete)?;
    epoll::delete(epoll, fd)
}

//! The wake source of Linux: an eventfd, and a timerfd for the deadline.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{EventfdFlags, PollFd, PollFlags};
use rustix::io::Errno;

use super::call;
use super::timerfd::Timer;

/// See the [contract](super).
#[derive(Debug)]
pub(crate) struct WakeSource {
    fd: OwnedFd,
    timer: Timer,
}

impl WakeSource {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self { fd: call::eventfd(0, flags)?, timer: Timer::new()? })
    }

    pub(crate) fn wake(&self) -> io::Result<()> {
        loop {
            match call::write(&self.fd, &1_u64.to_ne_bytes()) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                // The counter is at its maximum, so the descriptor is readable: the wait will end
                // without this write.
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(crate) fn wait(&self, deadline: Option<i64>) -> io::Result<()> {
        loop {
            self.timer.prepare(deadline)?;
            let mut fds = [
                PollFd::from_borrowed_fd(self.fd.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.timer.as_fd(), PollFlags::IN),
            ];
            match call::poll(&mut fds) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let [woken, expired] = [fds[0].revents(), fds[1].revents()];
            if !(woken | expired).contains(PollFlags::IN) {
                // Somebody closed a descriptor behind our back: waiting would spin.
                return Err(Errno::BADF.into());
            }
            if expired.contains(PollFlags::IN) {
                self.timer.expire();
            }
            if woken.contains(PollFlags::IN) {
                return self.drain();
            }
            // It may have been armed for an earlier deadline than this one.
            if deadline.is_some_and(|deadline| deadline <= super::now()) {
                return Ok(());
            }
        }
    }

    /// Sets the counter back to zero. One read does.
    fn drain(&self) -> io::Result<()> {
        let mut count = [0; 8];
        loop {
            match call::read(&self.fd, &mut count) {
                Ok(_) | Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;
    use crate::sys::call::faults::{Call, inject, left};
    use rustix::time::Timespec;

    fn soon() -> Option<i64> {
        Some(sys::now() + 1_000_000)
    }

    fn is_readable(source: &WakeSource) -> bool {
        let mut fds = [PollFd::new(&source.fd, PollFlags::IN)];
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut fds, Some(&zero)).unwrap() == 1
    }

    #[test]
    fn a_wake_before_the_wait_ends_it_at_once_and_many_count_as_one() {
        let source = WakeSource::new().unwrap();
        for _ in 0..1_000 {
            source.wake().unwrap();
        }
        source.wait(None).unwrap();
        assert!(!is_readable(&source), "all wakes are consumed");
    }

    // spec: WK-4, D07
    #[test]
    fn an_interrupted_wake_is_made_again() {
        let source = WakeSource::new().unwrap();
        inject(Call::Write, Err(Errno::INTR));
        inject(Call::Write, Err(Errno::INTR));
        source.wake().unwrap();
        assert_eq!(left(), 0);
        assert!(is_readable(&source));
    }

    // spec: WK-4, D07
    #[test]
    fn a_wake_that_finds_the_counter_full_is_unnecessary() {
        let source = WakeSource::new().unwrap();
        rustix::io::write(&source.fd, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        source.wake().unwrap();
        source.wait(None).unwrap();
        assert!(!is_readable(&source));
        source.wake().unwrap();
        assert!(is_readable(&source), "the source works on");
    }

    // spec: WK-5
    #[test]
    fn draining_goes_on_after_eintr_and_ends_on_eagain_or_nothing() {
        let source = WakeSource::new().unwrap();
        source.wake().unwrap();
        inject(Call::Read, Err(Errno::INTR));
        source.wait(None).unwrap();
        assert!(!is_readable(&source), "drained in spite of the interruption");

        source.wake().unwrap();
        inject(Call::Read, Err(Errno::AGAIN));
        source.wait(None).unwrap();
        inject(Call::Read, Ok(0));
        source.wait(None).unwrap();
        assert!(is_readable(&source), "a wake that was not read is still there");
    }

    // spec: WK-5
    #[test]
    fn a_drain_that_fails_is_an_error_and_not_a_spin() {
        let source = WakeSource::new().unwrap();
        source.wake().unwrap();
        inject(Call::Read, Err(Errno::BADF));
        assert!(source.wait(None).is_err());
    }

    #[test]
    fn a_wait_that_fails_is_an_error() {
        let source = WakeSource::new().unwrap();
        inject(Call::Poll, Err(Errno::NOMEM));
        assert!(source.wait(soon()).is_err());
        inject(Call::Poll, Ok(1));
        assert!(source.wait(soon()).is_err(), "an event other than readable");
    }

    // A finite wait that is interrupted keeps its deadline.
    #[test]
    fn interruptions_do_not_prolong_a_wait() {
        let source = WakeSource::new().unwrap();
        for _ in 0..100 {
            inject(Call::Poll, Err(Errno::INTR));
        }
        let deadline = sys::now() + 2_000_000;
        source.wait(Some(deadline)).unwrap();
        assert_eq!(left(), 0);
        assert!(sys::now() >= deadline, "and it does not end early either");
    }
}

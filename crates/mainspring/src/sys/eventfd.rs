//! The wake source of Linux: an eventfd.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::io::Errno;

/// See the [contract](super).
#[derive(Debug)]
pub(crate) struct WakeSource {
    fd: OwnedFd,
}

impl WakeSource {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self { fd: call::eventfd(0, flags)? })
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

    pub(crate) fn wait(&self, deadline: Option<Instant>) -> io::Result<()> {
        loop {
            let left = deadline.map(|deadline| {
                let left = deadline.saturating_duration_since(Instant::now());
                Timespec {
                    tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                    tv_nsec: left.subsec_nanos().into(),
                }
            });
            let mut fds = [PollFd::from_borrowed_fd(self.fd.as_fd(), PollFlags::IN)];
            match call::poll(&mut fds, left.as_ref()) {
                Ok(0) => return Ok(()),
                Ok(_) if fds[0].revents().contains(PollFlags::IN) => return self.drain(),
                // Somebody closed the descriptor behind our back: waiting would spin.
                Ok(_) => return Err(Errno::BADF.into()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
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

/// The system calls of this module. A test can make the next ones fail.
mod call {
    use super::*;

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
    pub(super) fn poll(
        fds: &mut [PollFd<'_>],
        timeout: Option<&Timespec>,
    ) -> rustix::io::Result<usize> {
        #[cfg(test)]
        if let Some(result) = faults::take(faults::Call::Poll) {
            return result;
        }
        rustix::event::poll(fds, timeout)
    }
}

/// Failures that a test injects into the calls made by its own thread.
#[cfg(test)]
pub(crate) mod faults {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Call {
        Eventfd,
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

#[cfg(test)]
mod tests {
    use super::faults::{Call, inject, left};
    use super::*;
    use std::time::Duration;

    fn soon() -> Option<Instant> {
        Some(Instant::now() + Duration::from_millis(1))
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
        let deadline = Instant::now() + Duration::from_millis(2);
        source.wait(Some(deadline)).unwrap();
        assert_eq!(left(), 0);
        assert!(Instant::now() >= deadline, "and it does not end early either");
    }
}

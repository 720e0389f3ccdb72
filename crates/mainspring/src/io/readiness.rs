//! What an event means for those who listen.
//!
//! | the system says | error callback | read callback | write callback |
//! |---|---|---|---|
//! | readable | | runs | |
//! | writable | | | runs |
//! | hung up | | runs | |
//! | error, and there is an error callback | runs | | |
//! | error, and there is none | | runs | runs |
//!
//! In this order, each if it exists and its direction is in the interest. An event that means nothing to
//! anybody can only be a hang-up or an error, which the system reports whatever it was asked for.

use super::slot::Word;
use crate::Interest;
use crate::sys::Flags;

/// What a descriptor is ready for, of what was asked.
///
/// ```no_run
/// # use mainspring::{EventLoop, Interest};
/// # let event_loop = EventLoop::new()?;
/// # let stream = std::net::TcpStream::connect("localhost:80").unwrap();
/// event_loop.cx().register_fd(stream, Interest::BOTH, |_, _, readiness| {
///     if readiness.is_readable() {
///         println!("something to read, or the end");
///     }
/// })?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Readiness {
    is_readable: bool,
    is_writable: bool,
    is_error: bool,
    is_hangup: bool,
    is_read_end: bool,
}

impl Readiness {
    /// None if there is nothing that was asked for.
    pub(crate) fn new(flags: Flags, word: Word) -> Option<Self> {
        let heard = heard(flags, word);
        (!heard.is_none()).then(|| Self {
            is_readable: heard.is_read(),
            is_writable: heard.is_write(),
            is_error: flags.has(Flags::ERROR),
            is_hangup: flags.has(Flags::HANGUP),
            is_read_end: flags.has(Flags::READ_END),
        })
    }

    /// Reading will not block: there is something, or the end, or an error.
    ///
    /// ```
    /// # fn f(readiness: mainspring::Readiness) {
    /// if readiness.is_readable() { /* read */ }
    /// # }
    /// ```
    #[must_use]
    pub fn is_readable(self) -> bool {
        self.is_readable
    }

    /// Writing will not block: there is room, or an error.
    ///
    /// ```
    /// # fn f(readiness: mainspring::Readiness) {
    /// if readiness.is_writable() { /* write */ }
    /// # }
    /// ```
    #[must_use]
    pub fn is_writable(self) -> bool {
        self.is_writable
    }

    /// The descriptor is in error; `take_error` of a socket says which.
    ///
    /// ```
    /// # fn f(readiness: mainspring::Readiness) {
    /// if readiness.is_error() { /* find out and close */ }
    /// # }
    /// ```
    #[must_use]
    pub fn is_error(self) -> bool {
        self.is_error
    }

    /// The other side is gone. What it sent before can still be read.
    ///
    /// ```
    /// # fn f(readiness: mainspring::Readiness) {
    /// if readiness.is_hangup() { /* read the rest */ }
    /// # }
    /// ```
    #[must_use]
    pub fn is_hangup(self) -> bool {
        self.is_hangup
    }

    /// A read that returned less than it could does not mean that there is no more. Known only to those who
    /// asked for it.
    #[cfg(not(loom))]
    pub(crate) fn is_read_end(self) -> bool {
        self.is_read_end
    }
}

/// The callbacks that an event is for, in the order in which they are run; one for errors is alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps(u8);

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Step {
    Read = Interest::READ.bits(),
    Write = Interest::WRITE.bits(),
    Error = 1 << 2,
    /// The only callback of a strict registration.
    All = 1 << 3,
}

impl Steps {
    pub(crate) const NONE: Self = Self(0);

    #[inline]
    pub(crate) fn new(flags: Flags, word: Word) -> Self {
        if flags.has(Flags::ERROR) && word.hears_error() {
            return Self(Step::Error as u8);
        }
        let heard = heard(flags, word);
        if word.is_strict() && !heard.is_none() {
            return Self(Step::All as u8);
        }
        Self(heard.bits())
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The first one, and the rest.
    #[inline]
    pub(crate) fn split(self) -> Option<(Step, Self)> {
        let step = match self.0.trailing_zeros() {
            0 => Step::Read,
            1 => Step::Write,
            2 => Step::Error,
            3 => Step::All,
            _ => return None,
        };
        debug_assert!(step as u8 == self.0 & self.0.wrapping_neg());
        Some((step, Self(self.0 & (self.0 - 1))))
    }
}

/// The directions for which an event counts, of those that were asked for.
#[inline]
fn heard(flags: Flags, word: Word) -> Interest {
    let readable = Flags::READABLE.or(Flags::HANGUP).or(Flags::ERROR).or(Flags::READ_END);
    let writable = Flags::WRITABLE.or(Flags::ERROR);
    let read = Interest::READ.when(flags.has(readable));
    let write = Interest::WRITE.when(flags.has(writable));
    word.heard().and(read | write)
}

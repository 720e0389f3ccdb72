//! What a listener does when accepting fails for a reason that is not its own.
//!
//! | the system says                                   | what happens                                       |
//! |---------------------------------------------------|----------------------------------------------------|
//! | the connection was given up, or is not allowed    | the next one is accepted; after many, as below     |
//! | there is no descriptor or no memory left          | the listener pauses, and then tries again          |
//! | anything else                                     | it is an error of the listener, which pauses, too  |
//!
//! During a pause the connections wait in the backlog. If it were not for the pause, the loop would spin: the
//! listener is ready, and stays so. An error may last as well, and whoever accepts may go on regardless.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use rustix::io::Errno;

use crate::fault::log_isolated;
use crate::io::AsyncFd;
use crate::sys::AsFd;

const PAUSE: Duration = Duration::from_millis(50);

/// So many in a row are not the connections' fault.
const MOST_FAILED: u32 = 16;

/// The state of a listener that may have to pause.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// Whether something is scarce, and that was said.
    is_warned: Cell<bool>,
    /// How many connections in a row could not be accepted.
    failed: Cell<u32>,
}

impl Patience {
    /// What came of an attempt to accept. None if there is to be another one, for which the listener may have
    /// to wait.
    pub(super) fn judge<S: AsFd + 'static, T>(
        &self,
        listener: &AsyncFd<S>,
        attempt: io::Result<T>,
    ) -> io::Result<Option<T>> {
        let error = match attempt {
            Ok(accepted) => {
                self.is_warned.set(false);
                self.failed.set(0);
                return Ok(Some(accepted));
            }
            Err(error) => error,
        };
        match Errno::from_io_error(&error) {
            Some(errno) if is_of_connection(errno) && self.failed.get() < MOST_FAILED => {
                self.failed.set(self.failed.get() + 1);
                Ok(None)
            }
            Some(errno) if is_scarce(errno) || is_of_connection(errno) => {
                self.failed.set(0);
                listener.pause_reading(PAUSE);
                if !self.is_warned.replace(true) {
                    log_isolated(|| {
                        tracing::warn!(%error, "connections wait until they can be accepted");
                    });
                }
                Ok(None)
            }
            Some(_) => {
                listener.pause_reading(PAUSE);
                Err(error)
            }
            // The loop is at its end, or somebody else took the descriptor out of it: a wait would not end.
            None => Err(error),
        }
    }
}

/// Whether an error is that of the connection which would have been accepted.
fn is_of_connection(errno: Errno) -> bool {
    #[cfg(target_os = "linux")]
    if matches!(errno, Errno::NONET) {
        return true;
    }
    #[cfg(unix)]
    if matches!(errno, Errno::PERM | Errno::PROTO) {
        return true;
    }
    matches!(
        errno,
        Errno::CONNABORTED
            | Errno::CONNRESET
            | Errno::HOSTDOWN
            | Errno::HOSTUNREACH
            | Errno::NETDOWN
            | Errno::NETUNREACH
            | Errno::NOPROTOOPT
            | Errno::OPNOTSUPP
            | Errno::TIMEDOUT
    )
}

/// Whether the system has not enough of something, which may change. The last one is room in a poller.
fn is_scarce(errno: Errno) -> bool {
    #[cfg(unix)]
    if matches!(errno, Errno::NFILE | Errno::NOMEM | Errno::NOSPC) {
        return true;
    }
    matches!(errno, Errno::MFILE | Errno::NOBUFS)
}

/// Refuses a socket that does not listen. Accepting would fail for ever, and does where the system cannot be asked.
pub(super) fn check(listener: &impl AsFd) -> io::Result<()> {
    #[cfg(target_vendor = "apple")]
    let is_listening = {
        let _ = listener;
        true
    };
    #[cfg(not(target_vendor = "apple"))]
    let is_listening = rustix::net::sockopt::socket_acceptconn(listener)?;
    if is_listening {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "the socket does not listen; call `listen` first",
    ))
}

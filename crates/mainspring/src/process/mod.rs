//! Child processes, as futures. Linux only.
//!
//! [`spawn`] starts what a [`Command`] of the standard library describes. The [`Child`] can be waited
//! for, and the pipes to its standard streams are [ends of pipes](crate::net::pipe) of the loop. There is neither
//! a signal handler nor a thread behind it: the system has a descriptor for each child, which tells when it
//! has ended.
//!
//! ```
//! use mainspring::{EventLoop, process};
//! use std::process::{Command, Stdio};
//!
//! let event_loop = EventLoop::new()?;
//! let mut command = Command::new("cat");
//! command.stdin(Stdio::piped()).stdout(Stdio::piped());
//! let mut child = process::spawn(event_loop.cx(), &mut command)?;
//! let output = event_loop.block_on(async {
//!     let stdin = child.stdin.take().expect("it was asked for");
//!     stdin.write_all(b"hello").await?;
//!     drop(stdin);
//!     child.wait_with_output().await
//! })??;
//! assert!(output.status.success());
//! assert_eq!(output.stdout, b"hello");
//! # Ok::<(), mainspring::Error>(())
//! ```
//!
//! # No zombies
//!
//! A process that has ended is kept by the system until its parent has asked how. A [`Child`] that is dropped
//! goes on running, unless told [otherwise](Child::kill_on_drop), and the loop asks when it has ended. If the
//! loop has ended before, the next call of [`spawn`], or the next `Child` that is dropped, on any thread, does.

mod child;
pub(crate) mod exit;
mod orphan;

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Output, Stdio};

pub use self::child::Child;
use crate::net::pipe::{Receiver, Sender};
use crate::{ChildExit, Cx};

/// Starts a child process.
///
/// Those of its standard streams that are [`Stdio::piped`](std::process::Stdio::piped) are in the fields of
/// the [`Child`].
///
/// For one whose output is all that is wanted, there is [`output`].
///
/// # Errors
///
/// As for [`Command::spawn`]: if there is no such program, for example. If the loop has terminated, or the
/// system refuses the descriptors; a process that was started is killed then. If somebody else has waited for the
/// process already: a process that ignores SIGCHLD, or waits for just any child, cannot use this.
///
/// ```
/// use mainspring::{EventLoop, process};
/// use std::process::Command;
///
/// let event_loop = EventLoop::new()?;
/// let mut child = process::spawn(event_loop.cx(), &mut Command::new("true"))?;
/// let status = event_loop.block_on(child.wait())??;
/// assert!(status.success());
///
/// let error = process::spawn(event_loop.cx(), &mut Command::new("no such program")).unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
/// # Ok::<(), mainspring::Error>(())
/// ```
pub fn spawn(cx: &Cx, command: &mut Command) -> io::Result<Child> {
    orphan::reap();
    let mut child = command.spawn()?;
    let stdin = child.stdin.take().map(OwnedFd::from);
    let stdout = child.stdout.take().map(OwnedFd::from);
    let stderr = child.stderr.take().map(OwnedFd::from);
    let exit = ChildExit::new(child).map_err(|(error, child)| {
        // One that is gone has been waited for by somebody else, and its number may be a stranger's.
        if rustix::io::Errno::from_io_error(&error) != Some(rustix::io::Errno::SRCH) {
            orphan::end(child);
        }
        error
    })?;
    let mut child = Child::new(cx, exit)?;
    let connected = (|| {
        child.stdin = stdin.map(|fd| Sender::from_fd(cx, fd)).transpose()?;
        child.stdout = stdout.map(|fd| Receiver::from_fd(cx, fd)).transpose()?;
        child.stderr = stderr.map(|fd| Receiver::from_fd(cx, fd)).transpose()?;
        Ok(())
    })();
    match connected {
        Ok(()) => Ok(child),
        Err(error) => {
            child.kill_on_drop(true);
            Err(error)
        }
    }
}

/// Runs a process to its end, and gives what it has written.
///
/// If it is dropped, the process is killed.
///
/// # Errors
///
/// As for [`spawn`] and [`Child::wait_with_output`].
///
/// ```
/// use mainspring::{EventLoop, process};
/// use std::process::Command;
///
/// let event_loop = EventLoop::new()?;
/// let cx = event_loop.cx();
/// let output = event_loop.block_on(async {
///     process::output(cx, Command::new("echo").arg("hello").stdin(std::process::Stdio::null())).await
/// })??;
/// assert_eq!(output.stdout, b"hello\n");
/// # Ok::<(), mainspring::Error>(())
/// ```
pub async fn output(cx: &Cx, command: &mut Command) -> io::Result<Output> {
    let mut child = spawn(cx, command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    child.kill_on_drop(true);
    child.wait_with_output().await
}

//! A child process.

use std::future::poll_fn;
use std::io;
use std::mem;
use std::os::fd::AsFd;
use std::process::{ExitStatus, Output};
use std::task::{Context, Poll};

use rustix::process::{Signal, pidfd_send_signal};

use super::orphan;
use crate::io::AsyncFd;
use crate::net::pipe::{Receiver, Sender};
use crate::{ChildExit, Cx};

/// A child process that was started by [`spawn`](super::spawn).
///
/// When it is dropped, the process goes on, and its pipes are closed, unless they were taken out. See
/// [`kill_on_drop`](Self::kill_on_drop).
///
/// ```
/// use mainspring::{EventLoop, process};
/// use std::process::Command;
///
/// let event_loop = EventLoop::new()?;
/// let mut command = Command::new("sh");
/// let mut child = process::spawn(event_loop.cx(), command.args(["-c", "exit 3"]))?;
/// let status = event_loop.block_on(child.wait())??;
/// assert_eq!(status.code(), Some(3));
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Debug)]
pub struct Child {
    /// What the process reads, if it was piped.
    pub stdin: Option<Sender>,
    /// What the process writes, if it was piped.
    pub stdout: Option<Receiver>,
    /// What the process writes to its standard error, if it was piped.
    pub stderr: Option<Receiver>,
    /// There until it is dropped.
    exit: Option<AsyncFd<ChildExit>>,
    kill_on_drop: bool,
}

impl Child {
    pub(super) fn new(cx: &Cx, exit: ChildExit) -> io::Result<Self> {
        match AsyncFd::new(cx, exit) {
            Ok(exit) => {
                let exit = Some(exit);
                Ok(Self { stdin: None, stdout: None, stderr: None, exit, kill_on_drop: false })
            }
            Err(refused) => {
                let (error, exit, ()) = refused.into_parts();
                orphan::end(exit.into_inner());
                Err(error.into())
            }
        }
    }

    fn exit(&self) -> &AsyncFd<ChildExit> {
        self.exit.as_ref().expect("it is there until it is dropped")
    }

    /// The number of the process. Once it was waited for, another process may have that number.
    ///
    /// ```
    /// # fn f(child: mainspring::process::Child) {
    /// println!("process {}", child.id());
    /// # }
    /// ```
    #[must_use]
    pub fn id(&self) -> u32 {
        self.exit().get_ref().id()
    }

    /// Waits until the process has ended, and says how. Its standard input is closed first, if it is still
    /// here, so that it does not wait for more.
    ///
    /// Cancel safe: it can be called again, also after it has said how.
    ///
    /// A process that writes more than a pipe has room for waits until somebody reads. So read its output at
    /// the same time; [`wait_with_output`](Self::wait_with_output) does that.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, or somebody else has waited for the process.
    ///
    /// ```
    /// # async fn f(mut child: mainspring::process::Child) -> std::io::Result<()> {
    /// let status = child.wait().await?;
    /// println!("{status}");
    /// # Ok(()) }
    /// ```
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        self.exit().read_with(status_of).await
    }

    /// How the process ended, if it did.
    ///
    /// # Errors
    ///
    /// If somebody else has waited for the process.
    ///
    /// ```
    /// # fn f(mut child: mainspring::process::Child) -> std::io::Result<()> {
    /// match child.try_wait()? {
    ///     Some(status) => println!("{status}"),
    ///     None => println!("still running"),
    /// }
    /// # Ok(()) }
    /// ```
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.exit().get_ref().try_wait()
    }

    /// Waits until the process has ended, and both its output and its errors, as far as they are here, have
    /// been read to their end. Its standard input is closed first.
    ///
    /// A process that was started by the child, and has inherited the pipes, keeps them from ending.
    ///
    /// Not cancel safe: what was read is lost, and the child is dropped.
    ///
    /// # Errors
    ///
    /// As for [`wait`](Self::wait), or if reading fails.
    ///
    /// ```
    /// use mainspring::{EventLoop, process};
    /// use std::process::{Command, Stdio};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let mut command = Command::new("echo");
    /// command.arg("hello").stdout(Stdio::piped());
    /// let child = process::spawn(event_loop.cx(), &mut command)?;
    /// let output = event_loop.block_on(child.wait_with_output())??;
    /// assert_eq!(output.stdout, b"hello\n");
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        drop(self.stdin.take());
        let mut stdout = Reading::new(self.stdout.take());
        let mut stderr = Reading::new(self.stderr.take());
        let mut status = None;
        poll_fn(|cx| {
            let is_read = stdout.poll(cx)?.is_ready() & stderr.poll(cx)?.is_ready();
            if status.is_none()
                && let Poll::Ready(ended) = self.exit().poll_read_with(cx, status_of)?
            {
                status = Some(ended);
            }
            match status {
                Some(status) if is_read => {
                    let (stdout, stderr) = (stdout.take(), stderr.take());
                    Poll::Ready(Ok(Output { status, stdout, stderr }))
                }
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Ends the process, by a signal that it cannot catch. It does not wait for that, and is no error if the
    /// process has ended before.
    ///
    /// # Errors
    ///
    /// If the system refuses: the process may belong to another user by now.
    ///
    /// ```
    /// # async fn f(mut child: mainspring::process::Child) -> std::io::Result<()> {
    /// child.kill()?;
    /// let status = child.wait().await?;
    /// assert!(!status.success());
    /// # Ok(()) }
    /// ```
    pub fn kill(&mut self) -> io::Result<()> {
        // The descriptor is that of this very process, whoever has its number now.
        match pidfd_send_signal(self.exit().as_fd(), Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the process is [killed](Self::kill) when this is dropped. It is not, unless told so.
    ///
    /// ```
    /// use mainspring::{EventLoop, process};
    /// use std::process::Command;
    ///
    /// let event_loop = EventLoop::new()?;
    /// let mut child = process::spawn(event_loop.cx(), Command::new("sleep").arg("1000"))?;
    /// child.kill_on_drop(true);
    /// drop(child);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn kill_on_drop(&mut self, kill: bool) -> &mut Self {
        self.kill_on_drop = kill;
        self
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.kill_on_drop {
            let _ = self.kill();
        }
        if let Some(exit) = self.exit.take() {
            let cx = exit.cx().clone();
            orphan::adopt(&cx, exit.into_inner());
        }
    }
}

/// How a process ended. If it did not, that would block.
fn status_of(exit: &ChildExit) -> io::Result<ExitStatus> {
    exit.try_wait()?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
}

/// A pipe that is read to its end.
struct Reading {
    from: Option<Receiver>,
    bytes: Vec<u8>,
}

impl Reading {
    fn new(from: Option<Receiver>) -> Self {
        Self { from, bytes: Vec::new() }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(from) = &self.from else { return Poll::Ready(Ok(())) };
        let polled = from.poll_read_to_end(cx, &mut self.bytes);
        if polled.is_ready() {
            self.from = None;
        }
        polled
    }

    fn take(&mut self) -> Vec<u8> {
        mem::take(&mut self.bytes)
    }
}

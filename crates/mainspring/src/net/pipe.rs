//! Pipes, as futures.
//!
//! A pipe has two ends: a [`Sender`], which is written to, and a [`Receiver`], which is read from. [`pair`]
//! makes both. An end can also be made of a descriptor that there is: that of a named pipe, or of the
//! standard input of a child process.
//!
//! ```
//! use mainspring::EventLoop;
//! use mainspring::net::pipe;
//!
//! let event_loop = EventLoop::new()?;
//! let cx = event_loop.cx();
//! event_loop.block_on(async {
//!     let (sender, receiver) = pipe::pair(cx)?;
//!     sender.write_all(b"hello").await?;
//!     drop(sender);
//!     let mut text = Vec::new();
//!     receiver.read_to_end(&mut text).await?;
//!     assert_eq!(text, b"hello");
//!     std::io::Result::Ok(())
//! })??;
//! # Ok::<(), mainspring::Error>(())
//! ```
//!
//! # SIGPIPE
//!
//! To write to a pipe that nobody can read any more is an error, of the kind
//! [`BrokenPipe`](std::io::ErrorKind::BrokenPipe). It is never more than that: if the program does not ignore
//! SIGPIPE when the [`Sender`] is made, the signal is held back while something is written. Most programs do
//! ignore it, and for them this costs nothing.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll, ready};

use rustix::buffer::spare_capacity;

use super::sigpipe;
use crate::io::{AsyncFd, Direction};
use crate::{Cx, Error};

/// How much room there is at least for each read of [`Receiver::read_to_end`].
const CHUNK: usize = 32;

/// Makes a pipe. Neither end is inherited by child processes.
///
/// # Errors
///
/// If the loop has terminated, or the system refuses.
///
/// ```
/// # use mainspring::{Cx, net::pipe};
/// # fn f(cx: &Cx) -> std::io::Result<()> {
/// let (sender, receiver) = pipe::pair(cx)?;
/// # Ok(()) }
/// ```
pub fn pair(cx: &Cx) -> io::Result<(Sender, Receiver)> {
    let (read, write) = io::pipe()?;
    Ok((Sender::from_fd(cx, write)?, Receiver::from_fd(cx, read)?))
}

/// The end of a pipe that is written to. When it is dropped, whoever reads comes to the end.
///
/// Several tasks may write at a time, through an `Rc` for example.
///
/// ```
/// # use mainspring::{Cx, net::pipe};
/// # async fn f(cx: &Cx) -> std::io::Result<()> {
/// let (sender, receiver) = pipe::pair(cx)?;
/// let n = sender.write(b"hello").await?;
/// assert_eq!(n, 5);
/// # Ok(()) }
/// ```
pub struct Sender {
    fd: AsyncFd<OwnedFd>,
    /// Whether SIGPIPE has to be held back.
    holds_back: bool,
}

impl Sender {
    /// Makes a descriptor of a pipe, or something like it, one of the loop, and non-blocking. That applies to
    /// all descriptors that were made by copying it, also in other processes.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, or the system refuses, a regular file for example. The descriptor is closed
    /// then.
    ///
    /// ```
    /// # use mainspring::{Cx, net::pipe};
    /// # fn f(cx: &Cx) -> std::io::Result<()> {
    /// let (_read, write) = std::io::pipe()?;
    /// let sender = pipe::Sender::from_fd(cx, write)?;
    /// # Ok(()) }
    /// ```
    pub fn from_fd(cx: &Cx, fd: impl Into<OwnedFd>) -> io::Result<Self> {
        let fd = AsyncFd::new(cx, fd.into()).map_err(Error::from)?;
        Ok(Self { fd, holds_back: sigpipe::is_harmful() })
    }

    /// Gives the descriptor back. It stays non-blocking.
    ///
    /// ```
    /// # use mainspring::net::pipe;
    /// # fn f(sender: pipe::Sender) {
    /// let fd = sender.into_fd();
    /// # }
    /// ```
    #[must_use]
    pub fn into_fd(self) -> OwnedFd {
        self.fd.into_inner()
    }

    fn write_now(&self, fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
        let write = || Ok(rustix::io::write(fd, bytes)?);
        if self.holds_back { sigpipe::held_back(write) } else { write() }
    }

    /// Writes what has room now, waits if nothing has, and says how much it was. Cancel safe: if it is
    /// dropped, nothing was written.
    ///
    /// # Errors
    ///
    /// [`BrokenPipe`](io::ErrorKind::BrokenPipe) if nobody can read any more.
    ///
    /// ```
    /// # use mainspring::net::pipe;
    /// # async fn f(sender: pipe::Sender) -> std::io::Result<()> {
    /// let n = sender.write(b"hello").await?;
    /// # Ok(()) }
    /// ```
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.fd.write_with(|fd| self.write_now(fd, bytes)).await
    }

    /// Writes everything. Not cancel safe: if it is dropped, a part may have been written, and it is not known
    /// which.
    ///
    /// # Errors
    ///
    /// As for [`write`](Self::write).
    ///
    /// ```
    /// # use mainspring::net::pipe;
    /// # async fn f(sender: pipe::Sender) -> std::io::Result<()> {
    /// sender.write_all(&[0; 1_000_000]).await?;
    /// # Ok(()) }
    /// ```
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write(bytes).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                n => bytes = &bytes[n..],
            }
        }
        Ok(())
    }

    /// Writes what has room now.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if nothing has. As for [`write`](Self::write).
    ///
    /// ```
    /// # use mainspring::net::pipe;
    /// # fn f(sender: pipe::Sender) -> std::io::Result<()> {
    /// let n = sender.try_write(b"hello")?;
    /// # Ok(()) }
    /// ```
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.fd.try_with(Direction::Write, |fd| self.write_now(fd, bytes))
    }

    /// [`write`](Self::write), for futures that are written by hand.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::net::pipe;
    /// # async fn f(sender: pipe::Sender) -> std::io::Result<()> {
    /// let n = std::future::poll_fn(|cx| sender.poll_write(cx, b"hello")).await?;
    /// # Ok(()) }
    /// ```
    pub fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.fd.poll_write_with(cx, |fd| self.write_now(fd, bytes))
    }

    /// Waits until something may have room, or nobody can read any more. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the loop has terminated.
    ///
    /// ```
    /// # use mainspring::net::pipe;
    /// # async fn f(sender: pipe::Sender) -> std::io::Result<()> {
    /// sender.writable().await?;
    /// # Ok(()) }
    /// ```
    pub async fn writable(&self) -> io::Result<()> {
        self.fd.writable().await
    }
}

/// The end of a pipe that is read from. When it is dropped, whoever writes is told that nobody reads.
///
/// ```
/// # use mainspring::{Cx, net::pipe};
/// # async fn f(cx: &Cx) -> std::io::Result<()> {
/// let (sender, receiver) = pipe::pair(cx)?;
/// drop(sender);
/// assert_eq!(receiver.read(&mut [0; 16]).await?, 0); // the end
/// # Ok(()) }
/// ```
pub struct Receiver(AsyncFd<OwnedFd>);

impl Receiver {
    /// Makes a descriptor of a pipe, or something like it, one of the loop, and non-blocking. That applies to
    /// all descriptors that were made by copying it, also in other processes.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, or the system refuses, a regular file for example. The descriptor is closed
    /// then.
    ///
    /// ```
    /// # use mainspring::{Cx, net::pipe};
    /// # fn f(cx: &Cx) -> std::io::Result<()> {
    /// let (read, _write) = std::io::pipe()?;
    /// let receiver = pipe::Receiver::from_fd(cx, read)?;
    /// # Ok(()) }
    /// ```
    pub fn from_fd(cx: &Cx, fd: impl Into<OwnedFd>) -> io::Result<Self> {
        Ok(Self(AsyncFd::new(cx, fd.into()).map_err(Error::from)?))
    }

    /// Gives the descriptor back. It stays non-blocking.
    ///
    /// ```
    /// # use mainspring::net::pipe;
    /// # fn f(receiver: pipe::Receiver) {
    /// let fd = receiver.into_fd();
    /// # }
    /// ```
    #[must_use]
    pub fn into_fd(self) -> OwnedFd {
        self.0.into_inner()
    }

    /// Reads what is there, waits if nothing is, and says how much it was; 0 is the end. Cancel safe: if it is
    /// dropped, nothing was read.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, or the system refuses.
    ///
    /// ```
    /// # use mainspring::net::pipe;
    /// # async fn f(receiver: pipe::Receiver) -> std::io::Result<()> {
    /// let mut buffer = [0; 4096];
    /// let n = receiver.read(&mut buffer).await?;
    /// # Ok(()) }
    /// ```
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_with(|fd| Ok(rustix::io::read(fd, &mut *buffer)?)).await
    }

    /// Reads until the buffer is full. Not cancel safe: what was read before it is dropped is lost.
    ///
    /// # Errors
    ///
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the end comes before that. As for
    /// [`read`](Self::read).
    ///
    /// ```
    /// # use mainspring::net::pipe;
    /// # async fn f(receiver: pipe::Receiver) -> std::io::Result<()> {
    /// let mut header = [0; 8];
    /// receiver.read_exact(&mut header).await?;
    /// # Ok(()) }
    /// ```
    pub async fn read_exact(&self, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read(buffer).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => buffer = &mut buffer[n..],
            }
        }
        Ok(())
    }

    /// Reads until the end, and appends it to what is there. Says how much it was.
    ///
    /// Cancel safe: what was read before it is dropped, or fails, has been appended.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    ///
    /// ```
    /// # use mainspring::net::pipe;
    /// # async fn f(receiver: pipe::Receiver) -> std::io::Result<()> {
    /// let mut bytes = Vec::new();
    /// receiver.read_to_end(&mut bytes).await?;
    /// # Ok(()) }
    /// ```
    pub async fn read_to_end(&self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let before = bytes.len();
        std::future::poll_fn(|cx| self.poll_read_to_end(cx, bytes)).await?;
        Ok(bytes.len() - before)
    }

    /// Appends what is there, until the end has come.
    pub(crate) fn poll_read_to_end(
        &self,
        cx: &mut Context<'_>,
        bytes: &mut Vec<u8>,
    ) -> Poll<io::Result<()>> {
        loop {
            bytes.reserve(CHUNK);
            let read = |fd: &OwnedFd| Ok(rustix::io::read(fd, spare_capacity(bytes))?);
            if ready!(self.0.poll_read_with(cx, read))? == 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Reads what is there; 0 is the end.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if nothing is. As for [`read`](Self::read).
    ///
    /// ```
    /// # use mainspring::net::pipe;
    /// # fn f(receiver: pipe::Receiver) -> std::io::Result<()> {
    /// let n = receiver.try_read(&mut [0; 4096])?;
    /// # Ok(()) }
    /// ```
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_with(Direction::Read, |fd| Ok(rustix::io::read(fd, &mut *buffer)?))
    }

    /// [`read`](Self::read), for futures that are written by hand.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::net::pipe;
    /// # async fn f(receiver: pipe::Receiver) -> std::io::Result<()> {
    /// let mut buffer = [0; 4096];
    /// let n = std::future::poll_fn(|cx| receiver.poll_read(cx, &mut buffer)).await?;
    /// # Ok(()) }
    /// ```
    pub fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.0.poll_read_with(cx, |fd| Ok(rustix::io::read(fd, &mut *buffer)?))
    }

    /// Waits until something may be there, or the end has come. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the loop has terminated.
    ///
    /// ```
    /// # use mainspring::net::pipe;
    /// # async fn f(receiver: pipe::Receiver) -> std::io::Result<()> {
    /// receiver.readable().await?;
    /// # Ok(()) }
    /// ```
    pub async fn readable(&self) -> io::Result<()> {
        self.0.readable().await
    }
}

impl AsFd for Sender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sender").field(self.fd.get_ref()).finish()
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(self.0.get_ref()).finish()
    }
}

#[cfg(feature = "futures-io")]
mod traits {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use super::{Receiver, Sender};

    impl futures_io::AsyncRead for Receiver {
        fn poll_read(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buffer: &mut [u8],
        ) -> Poll<io::Result<usize>> {
            Self::poll_read(&self, cx, buffer)
        }
    }

    /// Closing does nothing, since whoever reads comes to the end when this is dropped.
    impl futures_io::AsyncWrite for Sender {
        fn poll_write(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Self::poll_write(&self, cx, bytes)
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
}

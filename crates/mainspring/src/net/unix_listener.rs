//! Listening for connections of the processes of a machine.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::task::{Context, Poll, ready};

use super::accept::Patience;
use super::unix_addr::explain;
use super::unix_stream::UnixStream;
use crate::io::AsyncFd;
use crate::{Cx, Error};

/// A socket that accepts Unix streams.
///
/// An address is a path, or a [`SocketAddr`] of the standard library, which on Linux can also be an abstract
/// name. The file at a path stays when the listener is dropped: remove it before another one is bound there.
///
/// Several tasks may accept at a time; each connection goes to one of them.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring::net::{UnixListener, UnixStream};
///
/// let path = std::env::temp_dir().join(format!("mainspring-{}.sock", std::process::id()));
/// let event_loop = EventLoop::new()?;
/// let cx = event_loop.cx();
/// event_loop.block_on(async {
///     let listener = UnixListener::bind(cx, &path)?;
///     let client = UnixStream::connect(cx, &path).await?;
///     let (server, _) = listener.accept().await?;
///     server.write_all(b"hello").await?;
///     # let _ = client;
///     std::io::Result::Ok(())
/// })??;
/// std::fs::remove_file(&path)?;
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct UnixListener {
    io: AsyncFd<net::UnixListener>,
    patience: Patience,
}

impl UnixListener {
    /// Listens at a path, which must not exist yet.
    ///
    /// # Errors
    ///
    /// [`AddrInUse`](io::ErrorKind::AddrInUse) if there is a file at the path, be it that of a listener which is
    /// gone. If the loop has terminated, or the system refuses.
    ///
    /// ```
    /// # use mainspring::{Cx, net::UnixListener};
    /// # fn f(cx: &Cx) -> std::io::Result<()> {
    /// let listener = UnixListener::bind(cx, "/run/example.sock")?;
    /// # Ok(()) }
    /// ```
    pub fn bind(cx: &Cx, path: impl AsRef<Path>) -> io::Result<Self> {
        Self::bind_addr(cx, &SocketAddr::from_pathname(path)?)
    }

    /// Listens at an address.
    ///
    /// # Errors
    ///
    /// As for [`bind`](Self::bind).
    ///
    /// ```
    /// # use mainspring::{Cx, net::UnixListener};
    /// # fn f(cx: &Cx, address: std::os::unix::net::SocketAddr) -> std::io::Result<()> {
    /// let listener = UnixListener::bind_addr(cx, &address)?;
    /// # Ok(()) }
    /// ```
    pub fn bind_addr(cx: &Cx, address: &SocketAddr) -> io::Result<Self> {
        let listener = net::UnixListener::bind_addr(address);
        Self::from_std(cx, listener.map_err(|error| explain(error, address))?)
    }

    /// Makes a listener of the standard library one of the loop, and non-blocking.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, the socket does not listen, or the system refuses. The listener is closed then.
    ///
    /// ```
    /// # use mainspring::{Cx, net::UnixListener};
    /// # fn f(cx: &Cx) -> std::io::Result<()> {
    /// let listener = std::os::unix::net::UnixListener::bind("/run/example.sock")?;
    /// let listener = UnixListener::from_std(cx, listener)?;
    /// # Ok(()) }
    /// ```
    pub fn from_std(cx: &Cx, listener: net::UnixListener) -> io::Result<Self> {
        super::accept::check(&listener)?;
        let io = AsyncFd::new(cx, listener).map_err(Error::from)?;
        Ok(Self { io, patience: Patience::default() })
    }

    /// Gives the listener back. It stays non-blocking.
    ///
    /// ```
    /// # use mainspring::net::UnixListener;
    /// # fn f(listener: UnixListener) -> std::io::Result<()> {
    /// let listener = listener.into_std();
    /// listener.set_nonblocking(false)?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn into_std(self) -> net::UnixListener {
        self.io.into_inner()
    }

    /// The listener of the standard library, which has the options.
    ///
    /// ```
    /// # use mainspring::net::UnixListener;
    /// # fn f(listener: UnixListener) -> std::io::Result<()> {
    /// println!("{:?}", listener.get_ref().take_error()?);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn get_ref(&self) -> &net::UnixListener {
        self.io.get_ref()
    }

    /// The loop that it belongs to.
    ///
    /// ```
    /// # fn f(listener: mainspring::net::UnixListener) {
    /// listener.cx().shutdown();
    /// # }
    /// ```
    #[must_use]
    pub fn cx(&self) -> &Cx {
        self.io.cx()
    }

    /// The next connection, and the address that it comes from, which has no name in most cases.
    ///
    /// A connection that was given up before it could be accepted is skipped. If the process or the system has no
    /// more descriptors or memory, that is logged, and it is tried again after a while: the connections wait in
    /// the backlog meanwhile.
    ///
    /// Cancel safe: if it is dropped, no connection was accepted.
    ///
    /// # Errors
    ///
    /// If the loop terminates, or the socket does not listen. After an error of the system, which may last, the next
    /// attempt waits a while.
    ///
    /// ```
    /// # use mainspring::{Cx, net::UnixListener};
    /// # async fn f(cx: &Cx, listener: UnixListener) -> std::io::Result<()> {
    /// loop {
    ///     let (stream, _) = listener.accept().await?;
    ///     cx.spawn_local(async move { stream.write_all(b"hello").await });
    /// }
    /// # }
    /// ```
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        loop {
            let attempt = self.io.read_with(net::UnixListener::accept).await;
            if let Some(accepted) = self.judge(attempt)? {
                return Ok(accepted);
            }
        }
    }

    /// [`accept`](Self::accept), to be polled.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::net::UnixListener;
    /// # async fn f(listener: UnixListener) -> std::io::Result<()> {
    /// let (stream, _) = std::future::poll_fn(|context| listener.poll_accept(context)).await?;
    /// # let _ = stream;
    /// # Ok(()) }
    /// ```
    pub fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        loop {
            let attempt = ready!(self.io.poll_read_with(context, net::UnixListener::accept));
            if let Some(accepted) = self.judge(attempt)? {
                return Poll::Ready(Ok(accepted));
            }
        }
    }

    fn judge(
        &self,
        attempt: io::Result<(net::UnixStream, SocketAddr)>,
    ) -> io::Result<Option<(UnixStream, SocketAddr)>> {
        let attempt = attempt.and_then(|(stream, from)| {
            let stream = UnixStream::from_std(self.io.cx(), stream)?;
            Ok((stream, from))
        });
        self.patience.judge(&self.io, attempt)
    }

    /// The address at which it listens.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    ///
    /// ```
    /// # use mainspring::net::UnixListener;
    /// # fn f(listener: UnixListener) -> std::io::Result<()> {
    /// println!("{:?}", listener.local_addr()?.as_pathname());
    /// # Ok(()) }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }
}

impl AsFd for UnixListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl fmt::Debug for UnixListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get_ref().fmt(f)
    }
}

//! Listening for TCP connections.

use std::fmt;
use std::io;
use std::net::{self, SocketAddr};
use std::task::{Context, Poll, ready};

use rustix::net::SocketType;
#[cfg(unix)]
use rustix::net::sockopt;

use super::accept::Patience;
use super::addr::{ToAddrs, first_that_works, lookup_host};
use super::socket;
use super::tcp_stream::{Accepted, TcpStream};
use crate::io::AsyncFd;
use crate::sys::{OwnedFd, as_fd};
use crate::{Cx, Error};

/// How a listener is made, for [`TcpListener::bind_with`].
///
/// ```
/// use mainspring::net::ListenOptions;
///
/// let options = ListenOptions::new().reuse_port(true).backlog(128);
/// # drop(options);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ListenOptions {
    reuse_port: bool,
    backlog: u32,
}

impl ListenOptions {
    /// What [`TcpListener::bind`] uses.
    ///
    /// ```
    /// let options = mainspring::net::ListenOptions::new();
    /// # drop(options);
    /// ```
    pub fn new() -> Self {
        Self { reuse_port: false, backlog: 1024 }
    }

    /// Whether others, who say the same, can listen at this address, too. The system divides the connections
    /// among them. It is how several loops serve one port.
    ///
    /// ```
    /// let options = mainspring::net::ListenOptions::new().reuse_port(true);
    /// # drop(options);
    /// ```
    pub fn reuse_port(mut self, reuse_port: bool) -> Self {
        self.reuse_port = reuse_port;
        self
    }

    /// How many connections the system keeps that nobody has accepted yet. It may keep fewer.
    ///
    /// ```
    /// let options = mainspring::net::ListenOptions::new().backlog(16);
    /// # drop(options);
    /// ```
    pub fn backlog(mut self, backlog: u32) -> Self {
        self.backlog = backlog;
        self
    }

    pub(crate) fn listen(&self, address: SocketAddr) -> io::Result<net::TcpListener> {
        let socket = socket::new(socket::family(address), SocketType::STREAM)?;
        // What is left of old connections is no reason to refuse a new listener. On Windows it is none anyway, and the
        // option would take the port from others.
        #[cfg(unix)]
        sockopt::set_socket_reuseaddr(&socket, true)?;
        if self.reuse_port {
            reuse_port(&socket)?;
        }
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, i32::try_from(self.backlog).unwrap_or(i32::MAX))?;
        Ok(socket.into())
    }
}

/// Lets several sockets listen at one port.
fn reuse_port(socket: &OwnedFd) -> io::Result<()> {
    #[cfg(unix)]
    {
        Ok(sockopt::set_socket_reuseport(socket, true)?)
    }
    #[cfg(windows)]
    {
        let _ = socket;
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "windows does not share a port among listeners; use one listener, and give its connections away",
        ))
    }
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// A socket that accepts TCP connections.
///
/// Several tasks may accept at a time; each connection goes to one of them.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring::net::{TcpListener, TcpStream};
///
/// let event_loop = EventLoop::new()?;
/// let cx = event_loop.cx();
/// event_loop.block_on(async {
///     let listener = TcpListener::bind(cx, "127.0.0.1:0").await?;
///     let client = TcpStream::connect(cx, listener.local_addr()?).await?;
///     let (server, from) = listener.accept().await?;
///     assert_eq!(from, client.local_addr()?);
///     server.write_all(b"hello").await?;
///     std::io::Result::Ok(())
/// })??;
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct TcpListener {
    io: AsyncFd<net::TcpListener>,
    patience: Patience,
}

impl TcpListener {
    /// Listens at an address: the first one that the system allows. Port 0 is one that is free.
    ///
    /// Cancel safe: if it is dropped, nobody listens.
    ///
    /// # Errors
    ///
    /// Those of [`lookup_host`]; those of the system,
    /// [`AddrInUse`](io::ErrorKind::AddrInUse) for example; if the loop has terminated.
    ///
    /// ```
    /// # use mainspring::{Cx, net::TcpListener};
    /// # async fn f(cx: &Cx) -> std::io::Result<()> {
    /// let listener = TcpListener::bind(cx, "127.0.0.1:8080").await?;
    /// # drop(listener);
    /// # Ok(()) }
    /// ```
    pub async fn bind(cx: &Cx, address: impl ToAddrs) -> io::Result<Self> {
        Self::bind_with(cx, address, &ListenOptions::new()).await
    }

    /// [`bind`](Self::bind) with other options. Cancel safe.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::{Cx, net::{ListenOptions, TcpListener}};
    /// # async fn f(cx: &Cx) -> std::io::Result<()> {
    /// let options = ListenOptions::new().reuse_port(true);
    /// let listener = TcpListener::bind_with(cx, "127.0.0.1:8080", &options).await?;
    /// # drop(listener);
    /// # Ok(()) }
    /// ```
    pub async fn bind_with(
        cx: &Cx,
        address: impl ToAddrs,
        options: &ListenOptions,
    ) -> io::Result<Self> {
        let addresses = lookup_host(cx, address).await?;
        let listener = first_that_works(addresses, |address| options.listen(address))?;
        Self::new(AsyncFd::new_nonblocking(cx, listener))
    }

    /// Makes a listener of the standard library one of the loop, and non-blocking.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, the socket does not listen, or the system refuses. The listener is closed then.
    ///
    /// ```
    /// # use mainspring::{Cx, net::TcpListener};
    /// # fn f(cx: &Cx) -> std::io::Result<()> {
    /// let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    /// let listener = TcpListener::from_std(cx, listener)?;
    /// # drop(listener);
    /// # Ok(()) }
    /// ```
    pub fn from_std(cx: &Cx, listener: net::TcpListener) -> io::Result<Self> {
        super::accept::check(&listener)?;
        Self::new(AsyncFd::new(cx, listener))
    }

    fn new(registered: Result<AsyncFd<net::TcpListener>, impl Into<Error>>) -> io::Result<Self> {
        Ok(Self { io: registered.map_err(Into::into)?, patience: Patience::default() })
    }

    /// Gives the listener back. It stays non-blocking.
    ///
    /// ```
    /// # use mainspring::net::TcpListener;
    /// # fn f(listener: TcpListener) -> std::io::Result<()> {
    /// let listener = listener.into_std();
    /// listener.set_nonblocking(false)?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn into_std(self) -> net::TcpListener {
        self.io.into_inner()
    }

    /// The listener of the standard library, which has the options.
    ///
    /// ```
    /// # use mainspring::net::TcpListener;
    /// # fn f(listener: TcpListener) -> std::io::Result<()> {
    /// listener.get_ref().set_ttl(64)?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn get_ref(&self) -> &net::TcpListener {
        self.io.get_ref()
    }

    /// The loop that it belongs to.
    ///
    /// ```
    /// # fn f(listener: mainspring::net::TcpListener) {
    /// listener.cx().shutdown();
    /// # }
    /// ```
    #[must_use]
    pub fn cx(&self) -> &Cx {
        self.io.cx()
    }

    /// The next connection, and the address that it comes from.
    ///
    /// A connection that was given up before it could be accepted is skipped. If the process or the system has no
    /// more descriptors or memory, that is logged, and it is tried again after a while: the connections wait in
    /// the backlog meanwhile. (Only if the poller has no more room, each attempt costs one connection.)
    ///
    /// Cancel safe: if it is dropped, no connection was accepted.
    ///
    /// # Errors
    ///
    /// If the loop terminates, or the socket does not listen. After an error of the system, which may last, the next
    /// attempt waits a while.
    ///
    /// ```
    /// # use mainspring::{Cx, net::TcpListener};
    /// # async fn f(cx: &Cx, listener: TcpListener) -> std::io::Result<()> {
    /// loop {
    ///     let (stream, from) = listener.accept().await?;
    ///     println!("{from} is here");
    ///     cx.spawn_local(async move { stream.write_all(b"hello").await });
    /// }
    /// # }
    /// ```
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        loop {
            let attempt = self.io.read_with(TcpStream::accept).await;
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
    /// # use mainspring::net::TcpListener;
    /// # async fn f(listener: TcpListener) -> std::io::Result<()> {
    /// let (stream, from) = std::future::poll_fn(|context| listener.poll_accept(context)).await?;
    /// # let _ = (stream, from);
    /// # Ok(()) }
    /// ```
    pub fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        loop {
            let attempt = ready!(self.io.poll_read_with(context, TcpStream::accept));
            if let Some(accepted) = self.judge(attempt)? {
                return Poll::Ready(Ok(accepted));
            }
        }
    }

    fn judge(&self, attempt: io::Result<Accepted>) -> io::Result<Option<(TcpStream, SocketAddr)>> {
        let attempt = attempt.and_then(|accepted| accepted.register(self.io.cx()));
        self.patience.judge(&self.io, attempt)
    }

    /// The address at which it listens.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    ///
    /// ```
    /// # use mainspring::net::TcpListener;
    /// # fn f(listener: TcpListener) -> std::io::Result<()> {
    /// println!("port {}", listener.local_addr()?.port());
    /// # Ok(()) }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }
}

as_fd!(() TcpListener, this => &this.io);

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get_ref().fmt(f)
    }
}

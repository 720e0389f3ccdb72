//! TCP connections.

use std::io;
use std::net::{self, SocketAddr};

use rustix::io::Errno;
use rustix::net::{SocketType, sockopt};

use super::addr::{ToAddrs, lookup_host};
use super::socket;
use super::stream::sealed::Sealed;
use super::stream::stream_methods;
use crate::io::AsyncFd;
use crate::{Cx, Error};

/// A TCP connection.
///
/// It is read and written through `&self`, by any number of tasks; to give each direction an owner,
/// [split](Self::split) it. The directions end independently: when [`read`](Self::read) has come to the end,
/// writing still works, and the other way round.
///
/// Where the system tells what there is, on Linux, a request and its response are one system call each, and the
/// wait between them is one that all connections share.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring::net::{TcpListener, TcpStream};
///
/// let event_loop = EventLoop::new()?;
/// let cx = event_loop.cx();
/// event_loop.block_on(async {
///     let listener = TcpListener::bind(cx, "127.0.0.1:0").await?;
///     let ours = TcpStream::connect(cx, listener.local_addr()?).await?;
///     let (theirs, _) = listener.accept().await?;
///     ours.write_all(b"hello").await?;
///     let mut bytes = [0; 5];
///     theirs.read_exact(&mut bytes).await?;
///     assert_eq!(&bytes, b"hello");
///     std::io::Result::Ok(())
/// })??;
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct TcpStream {
    io: AsyncFd<net::TcpStream>,
}

impl TcpStream {
    /// Connects to an address. If there are several, they are tried one after the other.
    ///
    /// Cancel safe: if it is dropped, there is no connection.
    ///
    /// # Errors
    ///
    /// Those of [`lookup_host`]; those of the system for the address that was tried last,
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) for example; if the loop terminates.
    ///
    /// ```
    /// # use mainspring::{Cx, net::TcpStream};
    /// # async fn f(cx: &Cx) -> std::io::Result<()> {
    /// let stream = TcpStream::connect(cx, ("localhost", 8080)).await?;
    /// stream.write_all(b"hello").await?;
    /// # Ok(()) }
    /// ```
    pub async fn connect(cx: &Cx, address: impl ToAddrs) -> io::Result<Self> {
        let mut last = None;
        for address in lookup_host(cx, address).await? {
            match Self::connect_one(cx, address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()))
    }

    async fn connect_one(cx: &Cx, address: SocketAddr) -> io::Result<Self> {
        let socket = socket::new(socket::family(address), SocketType::STREAM)?;
        let is_connected = match rustix::net::connect(&socket, &address) {
            Ok(()) => true,
            Err(error) if is_under_way(error) => false,
            Err(error) => return Err(error.into()),
        };
        let stream = Self::new(AsyncFd::new_nonblocking(cx, socket.into()))?;
        if !is_connected {
            stream.io.writable().await?;
            if let Some(error) = stream.get_ref().take_error()? {
                return Err(error);
            }
        }
        Ok(stream)
    }

    /// Makes a connection of the standard library one of the loop, and non-blocking.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, or the system refuses. The connection is closed then.
    ///
    /// ```
    /// # use mainspring::{Cx, net::TcpStream};
    /// # fn f(cx: &Cx) -> std::io::Result<()> {
    /// let stream = std::net::TcpStream::connect("127.0.0.1:8080")?;
    /// let stream = TcpStream::from_std(cx, stream)?;
    /// # drop(stream);
    /// # Ok(()) }
    /// ```
    pub fn from_std(cx: &Cx, stream: net::TcpStream) -> io::Result<Self> {
        Self::new(AsyncFd::new(cx, stream))
    }

    fn new(registered: Result<AsyncFd<net::TcpStream>, impl Into<Error>>) -> io::Result<Self> {
        Ok(Self { io: registered.map_err(Into::into)? })
    }

    /// Accepts a connection, without blocking.
    #[cfg(target_os = "linux")]
    pub(super) fn accept(listener: &net::TcpListener) -> io::Result<Accepted> {
        use rustix::net::{SocketFlags, acceptfrom_with};

        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (socket, from) = acceptfrom_with(listener, flags)?;
        let from = from.ok_or(Errno::AFNOSUPPORT)?.try_into()?;
        Ok(Accepted { stream: socket.into(), from })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn accept(listener: &net::TcpListener) -> io::Result<Accepted> {
        let (stream, from) = listener.accept()?;
        stream.set_nonblocking(true)?;
        Ok(Accepted { stream, from })
    }

    /// Gives the connection back. It stays non-blocking.
    ///
    /// ```
    /// # use mainspring::net::TcpStream;
    /// # fn f(stream: TcpStream) -> std::io::Result<()> {
    /// let stream = stream.into_std();
    /// stream.set_nonblocking(false)?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn into_std(self) -> net::TcpStream {
        self.io.into_inner()
    }

    /// The connection of the standard library, which has the options.
    ///
    /// ```
    /// # use mainspring::net::TcpStream;
    /// # fn f(stream: TcpStream) -> std::io::Result<()> {
    /// stream.get_ref().set_ttl(64)?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn get_ref(&self) -> &net::TcpStream {
        self.io.get_ref()
    }

    /// Whether what is written is sent at once, even if it is little.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    ///
    /// ```
    /// # use mainspring::net::TcpStream;
    /// # fn f(stream: TcpStream) -> std::io::Result<()> {
    /// stream.set_nodelay(true)?;
    /// # Ok(()) }
    /// ```
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_nodelay(self.get_ref(), nodelay)?)
    }

    /// See [`set_nodelay`](Self::set_nodelay).
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::net::TcpStream;
    /// # fn f(stream: TcpStream) -> std::io::Result<()> {
    /// println!("{}", stream.nodelay()?);
    /// # Ok(()) }
    /// ```
    pub fn nodelay(&self) -> io::Result<bool> {
        Ok(sockopt::tcp_nodelay(self.get_ref())?)
    }

    /// The address of this side.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    ///
    /// ```
    /// # use mainspring::net::TcpStream;
    /// # fn f(stream: TcpStream) -> std::io::Result<()> {
    /// println!("{}", stream.local_addr()?);
    /// # Ok(()) }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }

    /// The address of the other side.
    ///
    /// # Errors
    ///
    /// If the system refuses, [`NotConnected`](io::ErrorKind::NotConnected) for example.
    ///
    /// ```
    /// # use mainspring::net::TcpStream;
    /// # fn f(stream: TcpStream) -> std::io::Result<()> {
    /// println!("{}", stream.peer_addr()?);
    /// # Ok(()) }
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().peer_addr()
    }
}

/// Whether connecting goes on by itself. One that was interrupted does, too.
fn is_under_way(error: Errno) -> bool {
    let would_block = cfg!(windows) && error == Errno::WOULDBLOCK;
    would_block || matches!(error, Errno::INPROGRESS | Errno::INTR)
}

/// A connection that the loop does not know yet.
pub(super) struct Accepted {
    stream: net::TcpStream,
    from: SocketAddr,
}

impl Accepted {
    pub(super) fn register(self, cx: &Cx) -> io::Result<(TcpStream, SocketAddr)> {
        Ok((TcpStream::new(AsyncFd::new_nonblocking(cx, self.stream))?, self.from))
    }
}

impl Sealed for TcpStream {
    type Source = net::TcpStream;

    /// Out-of-band data is one, but the backend tells of that.
    const HAS_BOUNDARIES: bool = false;

    #[inline]
    fn io(&self) -> &AsyncFd<net::TcpStream> {
        &self.io
    }
}

stream_methods!(TcpStream);

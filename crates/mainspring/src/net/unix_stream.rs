//! Streams between the processes of a machine.

use std::io;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};

use super::backoff::Backoff;
use super::socket;
use super::stream::sealed::Sealed;
use super::stream::stream_methods;
use super::unix_addr;
use crate::io::AsyncFd;
use crate::{Cx, Error};

/// A Unix stream.
///
/// An address is a path, or a [`SocketAddr`] of the standard library, which on Linux can also be an abstract
/// name.
///
/// Reading and writing work as with a [`TcpStream`](super::TcpStream): through `&self`, by any number of tasks.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring::net::UnixStream;
///
/// let event_loop = EventLoop::new()?;
/// let (ours, theirs) = UnixStream::pair(event_loop.cx())?;
/// event_loop.block_on(async {
///     ours.write_all(b"hello").await?;
///     let mut bytes = [0; 5];
///     theirs.read_exact(&mut bytes).await?;
///     assert_eq!(&bytes, b"hello");
///     std::io::Result::Ok(())
/// })??;
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct UnixStream {
    io: AsyncFd<net::UnixStream>,
}

impl UnixStream {
    /// Connects to who listens at a path. Waits while there are too many others who do.
    ///
    /// Cancel safe: if it is dropped, there is no connection.
    ///
    /// # Errors
    ///
    /// [`NotFound`](io::ErrorKind::NotFound) if there is no such path;
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if nobody listens there. If the loop has
    /// terminated.
    ///
    /// ```
    /// # use mainspring::{Cx, net::UnixStream};
    /// # async fn f(cx: &Cx) -> std::io::Result<()> {
    /// let stream = UnixStream::connect(cx, "/run/example.sock").await?;
    /// stream.write_all(b"hello").await?;
    /// # Ok(()) }
    /// ```
    pub async fn connect(cx: &Cx, path: impl AsRef<Path>) -> io::Result<Self> {
        Self::connect_addr(cx, &SocketAddr::from_pathname(path)?).await
    }

    /// Connects to who listens at an address. As [`connect`](Self::connect).
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::{Cx, net::{UnixListener, UnixStream}};
    /// # async fn f(cx: &Cx, listener: UnixListener) -> std::io::Result<()> {
    /// let stream = UnixStream::connect_addr(cx, &listener.local_addr()?).await?;
    /// # Ok(()) }
    /// ```
    pub async fn connect_addr(cx: &Cx, address: &SocketAddr) -> io::Result<Self> {
        let socket = socket::new(AddressFamily::UNIX, SocketType::STREAM)?;
        let address = unix_addr::convert(address)?;
        let mut backoff = Backoff::new();
        let connected = loop {
            match rustix::net::connect(&socket, &address) {
                // There is no room for one more. The system does not tell when there is some.
                Err(Errno::AGAIN) => backoff.pause(cx).await,
                Err(Errno::INTR) => {}
                result => break result,
            }
        };
        let is_done = match connected {
            Ok(()) | Err(Errno::ISCONN) => true,
            Err(Errno::INPROGRESS | Errno::ALREADY) => false,
            Err(error) => return Err(error.into()),
        };
        let stream = Self::new(AsyncFd::new_nonblocking(cx, net::UnixStream::from(socket)))?;
        if !is_done {
            stream.io.writable().await?;
            if let Some(error) = stream.get_ref().take_error()? {
                return Err(error);
            }
        }
        Ok(stream)
    }

    /// Two streams that are connected to each other.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, or the system refuses.
    ///
    /// ```
    /// # use mainspring::{Cx, net::UnixStream};
    /// # fn f(cx: &Cx) -> std::io::Result<()> {
    /// let (ours, theirs) = UnixStream::pair(cx)?;
    /// # Ok(()) }
    /// ```
    pub fn pair(cx: &Cx) -> io::Result<(Self, Self)> {
        let (a, b) = net::UnixStream::pair()?;
        Ok((Self::from_std(cx, a)?, Self::from_std(cx, b)?))
    }

    /// Makes a stream of the standard library one of the loop, and non-blocking. It has to be a stream of bytes
    /// (`SOCK_STREAM`), not of packets.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, or the system refuses. The stream is closed then.
    ///
    /// ```
    /// # use mainspring::{Cx, net::UnixStream};
    /// # fn f(cx: &Cx) -> std::io::Result<()> {
    /// let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    /// let ours = UnixStream::from_std(cx, ours)?;
    /// # Ok(()) }
    /// ```
    pub fn from_std(cx: &Cx, stream: net::UnixStream) -> io::Result<Self> {
        Self::new(AsyncFd::new(cx, stream))
    }

    fn new(registered: Result<AsyncFd<net::UnixStream>, impl Into<Error>>) -> io::Result<Self> {
        Ok(Self { io: registered.map_err(Into::into)? })
    }

    /// Gives the stream back. It stays non-blocking.
    ///
    /// ```
    /// # use mainspring::net::UnixStream;
    /// # fn f(stream: UnixStream) -> std::io::Result<()> {
    /// let stream = stream.into_std();
    /// stream.set_nonblocking(false)?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn into_std(self) -> net::UnixStream {
        self.io.into_inner()
    }

    /// The stream of the standard library, which has the options.
    ///
    /// ```
    /// # use mainspring::net::UnixStream;
    /// # fn f(stream: UnixStream) -> std::io::Result<()> {
    /// println!("{:?}", stream.get_ref().take_error()?);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn get_ref(&self) -> &net::UnixStream {
        self.io.get_ref()
    }

    /// The address of this side, which has none in most cases.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    ///
    /// ```
    /// # use mainspring::net::UnixStream;
    /// # fn f(stream: UnixStream) -> std::io::Result<()> {
    /// println!("{:?}", stream.local_addr()?.as_pathname());
    /// # Ok(()) }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }

    /// The address of the other side.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    ///
    /// ```
    /// # use mainspring::net::UnixStream;
    /// # fn f(stream: UnixStream) -> std::io::Result<()> {
    /// println!("{:?}", stream.peer_addr()?.as_pathname());
    /// # Ok(()) }
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().peer_addr()
    }
}

impl Sealed for UnixStream {
    type Source = net::UnixStream;

    /// Descriptors can be sent along.
    const HAS_BOUNDARIES: bool = true;

    #[inline]
    fn io(&self) -> &AsyncFd<net::UnixStream> {
        &self.io
    }
}

stream_methods!(UnixStream);

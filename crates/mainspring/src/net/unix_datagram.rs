//! Datagrams between the processes of a machine.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;

use super::backoff::Backoff;
use super::unix_addr::explain;
use crate::io::{AsyncFd, Direction};
use crate::{Cx, Error};

/// A Unix socket for datagrams.
///
/// Datagrams arrive in their order, and none is lost: whoever sends waits while the receiver has no room. One
/// that is longer than the buffer is cut off, and its rest is lost.
///
/// An address is a path, or a [`SocketAddr`] of the standard library, which on Linux can also be an abstract
/// name. The file at a path stays when the socket is dropped: remove it before another one is bound there.
///
/// Several tasks may use one socket at a time, through an `Rc` for example; each datagram reaches one of them.
/// All futures are cancel safe: one that is dropped has neither taken nor sent a datagram.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring::net::UnixDatagram;
///
/// let event_loop = EventLoop::new()?;
/// let (ours, theirs) = UnixDatagram::pair(event_loop.cx())?;
/// event_loop.block_on(async {
///     ours.send(b"hello").await?;
///     let mut buffer = [0; 1500];
///     let n = theirs.recv(&mut buffer).await?;
///     assert_eq!(&buffer[..n], b"hello");
///     std::io::Result::Ok(())
/// })??;
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct UnixDatagram(AsyncFd<net::UnixDatagram>);

impl UnixDatagram {
    /// A socket at a path.
    ///
    /// # Errors
    ///
    /// [`AddrInUse`](io::ErrorKind::AddrInUse) if there is a file at the path. If the loop has terminated, or
    /// the system refuses.
    ///
    /// ```no_run
    /// # use mainspring::{Cx, net::UnixDatagram};
    /// # fn f(cx: &Cx) -> std::io::Result<()> {
    /// let socket = UnixDatagram::bind(cx, "/run/example.sock")?;
    /// # Ok(()) }
    /// ```
    pub fn bind(cx: &Cx, path: impl AsRef<Path>) -> io::Result<Self> {
        Self::bind_addr(cx, &SocketAddr::from_pathname(path)?)
    }

    /// A socket at an address.
    ///
    /// # Errors
    ///
    /// As for [`bind`](Self::bind).
    ///
    /// ```
    /// # use mainspring::{Cx, net::UnixDatagram};
    /// # fn f(cx: &Cx, address: std::os::unix::net::SocketAddr) -> std::io::Result<()> {
    /// let socket = UnixDatagram::bind_addr(cx, &address)?;
    /// # Ok(()) }
    /// ```
    pub fn bind_addr(cx: &Cx, address: &SocketAddr) -> io::Result<Self> {
        let socket = net::UnixDatagram::bind_addr(address);
        Self::from_std(cx, socket.map_err(|error| explain(error, address))?)
    }

    /// A socket without an address. It can send, but nobody can answer.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, or the system refuses.
    ///
    /// ```
    /// # use mainspring::{Cx, net::UnixDatagram};
    /// # async fn f(cx: &Cx) -> std::io::Result<()> {
    /// UnixDatagram::unbound(cx)?.send_to(b"hello", "/run/example.sock").await?;
    /// # Ok(()) }
    /// ```
    pub fn unbound(cx: &Cx) -> io::Result<Self> {
        Self::from_std(cx, net::UnixDatagram::unbound()?)
    }

    /// Two sockets that are connected to each other.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, or the system refuses.
    ///
    /// ```
    /// # use mainspring::{Cx, net::UnixDatagram};
    /// # fn f(cx: &Cx) -> std::io::Result<()> {
    /// let (ours, theirs) = UnixDatagram::pair(cx)?;
    /// # Ok(()) }
    /// ```
    pub fn pair(cx: &Cx) -> io::Result<(Self, Self)> {
        let (a, b) = net::UnixDatagram::pair()?;
        Ok((Self::from_std(cx, a)?, Self::from_std(cx, b)?))
    }

    /// Makes a socket of the standard library one of the loop, and non-blocking.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, or the system refuses. The socket is closed then.
    ///
    /// ```
    /// # use mainspring::{Cx, net::UnixDatagram};
    /// # fn f(cx: &Cx) -> std::io::Result<()> {
    /// let socket = UnixDatagram::from_std(cx, std::os::unix::net::UnixDatagram::unbound()?)?;
    /// # Ok(()) }
    /// ```
    pub fn from_std(cx: &Cx, socket: net::UnixDatagram) -> io::Result<Self> {
        Ok(Self(AsyncFd::new(cx, socket).map_err(Error::from)?))
    }

    /// Gives the socket back. It stays non-blocking.
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// let socket = socket.into_std();
    /// socket.set_nonblocking(false)?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn into_std(self) -> net::UnixDatagram {
        self.0.into_inner()
    }

    /// The socket of the standard library, which has the options.
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// println!("{:?}", socket.get_ref().take_error()?);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn get_ref(&self) -> &net::UnixDatagram {
        self.0.get_ref()
    }

    /// The address of this socket.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// println!("{:?}", socket.local_addr()?.as_pathname());
    /// # Ok(()) }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }

    /// The address that this socket is connected to.
    ///
    /// # Errors
    ///
    /// If it is not connected.
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// println!("{:?}", socket.peer_addr()?.as_pathname());
    /// # Ok(()) }
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().peer_addr()
    }

    /// Sends to this path from now on, and receives from it only.
    ///
    /// # Errors
    ///
    /// If there is no socket at the path, or nobody uses it.
    ///
    /// ```
    /// # use mainspring::{Cx, net::UnixDatagram};
    /// # async fn f(cx: &Cx) -> std::io::Result<()> {
    /// let socket = UnixDatagram::unbound(cx)?;
    /// socket.connect("/run/example.sock")?;
    /// socket.send(b"hello").await?;
    /// # Ok(()) }
    /// ```
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.get_ref().connect(path)
    }

    /// Sends to this address from now on, and receives from it only.
    ///
    /// # Errors
    ///
    /// As for [`connect`](Self::connect).
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # fn f(ours: UnixDatagram, theirs: UnixDatagram) -> std::io::Result<()> {
    /// ours.connect_addr(&theirs.local_addr()?)?;
    /// # Ok(()) }
    /// ```
    pub fn connect_addr(&self, address: &SocketAddr) -> io::Result<()> {
        self.get_ref().connect_addr(address)
    }

    /// Sends a datagram to the address that the socket is connected to. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the socket is not connected, nobody uses the other one any more, or the datagram is too long.
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # async fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// assert_eq!(socket.send(b"hello").await?, 5);
    /// # Ok(()) }
    /// ```
    pub async fn send(&self, datagram: &[u8]) -> io::Result<usize> {
        self.0.write_with(|socket| socket.send(datagram)).await
    }

    /// Sends a datagram to a path. Cancel safe.
    ///
    /// # Errors
    ///
    /// If there is no socket at the path, nobody uses it, or the datagram is too long.
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # async fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// socket.send_to(b"hello", "/run/example.sock").await?;
    /// # Ok(()) }
    /// ```
    pub async fn send_to(&self, datagram: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        self.send_to_addr(datagram, &SocketAddr::from_pathname(path)?).await
    }

    /// Sends a datagram to an address. Cancel safe.
    ///
    /// # Errors
    ///
    /// As for [`send_to`](Self::send_to).
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # async fn f(ours: UnixDatagram, theirs: UnixDatagram) -> std::io::Result<()> {
    /// ours.send_to_addr(b"hello", &theirs.local_addr()?).await?;
    /// # Ok(()) }
    /// ```
    pub async fn send_to_addr(&self, datagram: &[u8], to: &SocketAddr) -> io::Result<usize> {
        let mut backoff = Backoff::new();
        loop {
            let attempt = self.0.write_with(|socket| match socket.send_to_addr(datagram, to) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                result => result.map(Some),
            });
            if let Some(sent) = attempt.await? {
                return Ok(sent);
            }
            // The receiver's queue is full. Unless this socket is connected to it, the system says nothing about
            // that queue: neither when there is room, if it is full of what others have sent, nor that there is
            // none, so that this socket looks ready all the time.
            backoff.pause(self.0.cx()).await;
        }
    }

    /// Receives a datagram, and says how long it is, or how much of it had room. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, or the system refuses.
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # async fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// let mut buffer = [0; 1500];
    /// let n = socket.recv(&mut buffer).await?;
    /// println!("{:?}", &buffer[..n]);
    /// # Ok(()) }
    /// ```
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_with(|socket| socket.recv(buffer)).await
    }

    /// Receives a datagram, and says from whom. Cancel safe.
    ///
    /// # Errors
    ///
    /// As for [`recv`](Self::recv).
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # async fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// let mut buffer = [0; 1500];
    /// let (n, from) = socket.recv_from(&mut buffer).await?;
    /// socket.send_to_addr(&buffer[..n], &from).await?;
    /// # Ok(()) }
    /// ```
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read_with(|socket| socket.recv_from(buffer)).await
    }

    /// Sends a datagram to the address that the socket is connected to, if that does not take waiting.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if it does. As for [`send`](Self::send).
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// socket.try_send(b"hello")?;
    /// # Ok(()) }
    /// ```
    pub fn try_send(&self, datagram: &[u8]) -> io::Result<usize> {
        self.0.try_with(Direction::Write, |socket| socket.send(datagram))
    }

    /// Sends a datagram to an address, if that does not take waiting.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if it does. As for [`send_to`](Self::send_to).
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # fn f(ours: UnixDatagram, theirs: UnixDatagram) -> std::io::Result<()> {
    /// ours.try_send_to_addr(b"hello", &theirs.local_addr()?)?;
    /// # Ok(()) }
    /// ```
    pub fn try_send_to_addr(&self, datagram: &[u8], to: &SocketAddr) -> io::Result<usize> {
        self.0.try_with(Direction::Write, |socket| socket.send_to_addr(datagram, to))
    }

    /// Receives a datagram, if one is there.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if none is. As for [`recv`](Self::recv).
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// let n = socket.try_recv(&mut [0; 1500])?;
    /// # Ok(()) }
    /// ```
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_with(Direction::Read, |socket| socket.recv(buffer))
    }

    /// Receives a datagram, if one is there, and says from whom.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if none is. As for [`recv`](Self::recv).
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// let (n, from) = socket.try_recv_from(&mut [0; 1500])?;
    /// # Ok(()) }
    /// ```
    pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.try_with(Direction::Read, |socket| socket.recv_from(buffer))
    }

    /// Ends one direction, or both.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// socket.shutdown(std::net::Shutdown::Write)?;
    /// # Ok(()) }
    /// ```
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.get_ref().shutdown(how)
    }

    /// Waits until a datagram may be there, or an error. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the loop has terminated.
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # async fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// socket.readable().await?;
    /// # Ok(()) }
    /// ```
    pub async fn readable(&self) -> io::Result<()> {
        self.0.readable().await
    }

    /// Waits until a datagram may be sent to the address that the socket is connected to. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the loop has terminated.
    ///
    /// ```
    /// # use mainspring::net::UnixDatagram;
    /// # async fn f(socket: UnixDatagram) -> std::io::Result<()> {
    /// socket.writable().await?;
    /// # Ok(()) }
    /// ```
    pub async fn writable(&self) -> io::Result<()> {
        self.0.writable().await
    }
}

impl AsFd for UnixDatagram {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl fmt::Debug for UnixDatagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get_ref().fmt(f)
    }
}

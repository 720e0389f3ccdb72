//! Datagrams over a network.

use std::fmt;
use std::io;
use std::net::{self, SocketAddr};
use std::task::{Context, Poll};

use super::addr::{ToAddrs, lookup_host};
use crate::io::{AsyncFd, Direction};
use crate::sys::as_fd;
use crate::{Cx, Error};

/// A UDP socket.
///
/// Each datagram arrives as a whole, or not at all. One that is longer than the buffer is cut off, and its
/// rest is lost; on Windows that is an error.
///
/// Several tasks may use one socket at a time, through an `Rc` for example; each datagram reaches one of them.
/// All futures are cancel safe: one that is dropped has neither taken nor sent a datagram.
///
/// An error that another host reports, such as "nobody listens at this port", is returned by the next call on
/// a socket that is [connected](Self::connect). The socket goes on working.
///
/// ```
/// use mainspring::EventLoop;
/// use mainspring::net::UdpSocket;
///
/// let event_loop = EventLoop::new()?;
/// let cx = event_loop.cx();
/// event_loop.block_on(async {
///     let ours = UdpSocket::bind(cx, "127.0.0.1:0").await?;
///     let theirs = UdpSocket::bind(cx, "127.0.0.1:0").await?;
///     ours.send_to(b"hello", theirs.local_addr()?).await?;
///     let mut buffer = [0; 1500];
///     let (n, from) = theirs.recv_from(&mut buffer).await?;
///     assert_eq!(&buffer[..n], b"hello");
///     assert_eq!(from, ours.local_addr()?);
///     std::io::Result::Ok(())
/// })??;
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct UdpSocket(AsyncFd<net::UdpSocket>);

impl UdpSocket {
    /// A socket at an address: the first that can be had. The port 0 is one that the system chooses.
    ///
    /// # Errors
    ///
    /// If none of the addresses can be had; the error is that of the last one. As for [`lookup_host`].
    ///
    /// ```
    /// # use mainspring::{Cx, net::UdpSocket};
    /// # async fn f(cx: &Cx) -> std::io::Result<()> {
    /// let socket = UdpSocket::bind(cx, ("::1", 0)).await?;
    /// println!("{}", socket.local_addr()?);
    /// # Ok(()) }
    /// ```
    pub async fn bind(cx: &Cx, address: impl ToAddrs) -> io::Result<Self> {
        let addresses = lookup_host(cx, address).await?;
        Self::from_std(cx, net::UdpSocket::bind(&addresses[..])?)
    }

    /// Makes a socket of the standard library one of the loop, and non-blocking.
    ///
    /// # Errors
    ///
    /// If the loop has terminated, or the system refuses. The socket is closed then.
    ///
    /// ```
    /// # use mainspring::{Cx, net::UdpSocket};
    /// # fn f(cx: &Cx) -> std::io::Result<()> {
    /// let socket = UdpSocket::from_std(cx, std::net::UdpSocket::bind("127.0.0.1:0")?)?;
    /// # Ok(()) }
    /// ```
    pub fn from_std(cx: &Cx, socket: net::UdpSocket) -> io::Result<Self> {
        Ok(Self(AsyncFd::new(cx, socket).map_err(Error::from)?))
    }

    /// Gives the socket back. It stays non-blocking.
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// let socket = socket.into_std();
    /// socket.set_nonblocking(false)?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn into_std(self) -> net::UdpSocket {
        self.0.into_inner()
    }

    /// The socket of the standard library, which has the options: of broadcast, multicast, and so on.
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// socket.get_ref().set_broadcast(true)?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn get_ref(&self) -> &net::UdpSocket {
        self.0.get_ref()
    }

    /// The address of this socket.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// println!("{}", socket.local_addr()?);
    /// # Ok(()) }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }

    /// The address that this socket is [connected](Self::connect) to.
    ///
    /// # Errors
    ///
    /// If it is not connected.
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// println!("{}", socket.peer_addr()?);
    /// # Ok(()) }
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().peer_addr()
    }

    /// Sends to this address from now on, and receives from it only. Nothing is sent by this.
    ///
    /// # Errors
    ///
    /// If there is no way to any of the addresses. As for [`lookup_host`].
    ///
    /// ```
    /// # use mainspring::{Cx, net::UdpSocket};
    /// # async fn f(cx: &Cx) -> std::io::Result<()> {
    /// let socket = UdpSocket::bind(cx, "127.0.0.1:0").await?;
    /// socket.connect(cx, "127.0.0.1:53").await?;
    /// socket.send(b"who is there?").await?;
    /// # Ok(()) }
    /// ```
    pub async fn connect(&self, cx: &Cx, address: impl ToAddrs) -> io::Result<()> {
        let addresses = lookup_host(cx, address).await?;
        self.get_ref().connect(&addresses[..])
    }

    /// Sends a datagram to the address that the socket is connected to. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the socket is not connected, the datagram is too long, or the system refuses.
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # async fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// assert_eq!(socket.send(b"hello").await?, 5);
    /// # Ok(()) }
    /// ```
    pub async fn send(&self, datagram: &[u8]) -> io::Result<usize> {
        self.0.write_with(|socket| socket.send(datagram)).await
    }

    /// Sends a datagram to an address. Cancel safe.
    ///
    /// # Errors
    ///
    /// If there is no way to the address, the datagram is too long, or the system refuses.
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # async fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// let to = ([127, 0, 0, 1], 9).into();
    /// socket.send_to(b"hello", to).await?;
    /// # Ok(()) }
    /// ```
    pub async fn send_to(&self, datagram: &[u8], to: SocketAddr) -> io::Result<usize> {
        self.0.write_with(|socket| socket.send_to(datagram, to)).await
    }

    /// Receives a datagram, and says how long it is, or how much of it had room. Cancel safe.
    ///
    /// # Errors
    ///
    /// What the address that the socket is connected to has reported, or the system. Such an error is reported
    /// once.
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # async fn f(socket: UdpSocket) -> std::io::Result<()> {
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
    /// # use mainspring::net::UdpSocket;
    /// # async fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// let mut buffer = [0; 1500];
    /// let (n, from) = socket.recv_from(&mut buffer).await?;
    /// socket.send_to(&buffer[..n], from).await?;
    /// # Ok(()) }
    /// ```
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read_with(|socket| socket.recv_from(buffer)).await
    }

    /// Receives a datagram, and leaves it where it is, for the next one who asks. Cancel safe.
    ///
    /// # Errors
    ///
    /// As for [`recv`](Self::recv).
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # async fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// let (_, from) = socket.peek_from(&mut [0]).await?;
    /// println!("there is something from {from}");
    /// # Ok(()) }
    /// ```
    pub async fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read_with(|socket| socket.peek_from(buffer)).await
    }

    /// Sends a datagram to the address that the socket is connected to, if that does not take waiting.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if it does. As for [`send`](Self::send).
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # fn f(socket: UdpSocket) -> std::io::Result<()> {
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
    /// # use mainspring::net::UdpSocket;
    /// # fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// socket.try_send_to(b"hello", ([127, 0, 0, 1], 9).into())?;
    /// # Ok(()) }
    /// ```
    pub fn try_send_to(&self, datagram: &[u8], to: SocketAddr) -> io::Result<usize> {
        self.0.try_with(Direction::Write, |socket| socket.send_to(datagram, to))
    }

    /// Receives a datagram, if one is there.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if none is. As for [`recv`](Self::recv).
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # fn f(socket: UdpSocket) -> std::io::Result<()> {
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
    /// # use mainspring::net::UdpSocket;
    /// # fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// let (n, from) = socket.try_recv_from(&mut [0; 1500])?;
    /// # Ok(()) }
    /// ```
    pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.try_with(Direction::Read, |socket| socket.recv_from(buffer))
    }

    /// [`recv_from`](Self::recv_from), for futures that are written by hand.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # async fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// let mut buffer = [0; 1500];
    /// let (n, from) = std::future::poll_fn(|cx| socket.poll_recv_from(cx, &mut buffer)).await?;
    /// # Ok(()) }
    /// ```
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        self.0.poll_read_with(cx, |socket| socket.recv_from(buffer))
    }

    /// [`send_to`](Self::send_to), for futures that are written by hand.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # async fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// let to = ([127, 0, 0, 1], 9).into();
    /// std::future::poll_fn(|cx| socket.poll_send_to(cx, b"hello", to)).await?;
    /// # Ok(()) }
    /// ```
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        datagram: &[u8],
        to: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write_with(cx, |socket| socket.send_to(datagram, to))
    }

    /// Waits until a datagram may be there, or an error. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the loop has terminated.
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # async fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// socket.readable().await?;
    /// # Ok(()) }
    /// ```
    pub async fn readable(&self) -> io::Result<()> {
        self.0.readable().await
    }

    /// Waits until a datagram may be sent. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the loop has terminated.
    ///
    /// ```
    /// # use mainspring::net::UdpSocket;
    /// # async fn f(socket: UdpSocket) -> std::io::Result<()> {
    /// socket.writable().await?;
    /// # Ok(()) }
    /// ```
    pub async fn writable(&self) -> io::Result<()> {
        self.0.writable().await
    }
}

as_fd!(() UdpSocket, this => &this.0);

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get_ref().fmt(f)
    }
}

//! Sockets and pipes, as futures.
//!
//! The types do what their namesakes of the standard library do, and wait without blocking the loop. What is not
//! said to be otherwise is cancel safe: a future that is dropped has done nothing.
//!
//! Buffering, lines and copying are in other crates: with the feature `futures-io`, streams have the traits that
//! `futures-util`, `futures-lite` and others build on. Options of sockets that are not here can be set with any crate
//! that takes a borrowed descriptor, since all of these have `AsFd`, or `AsSocket` on Windows. There are no pipes and no Unix sockets
//! there.
//!
//! ```
//! use mainspring::EventLoop;
//! use mainspring::net::{TcpListener, TcpStream};
//!
//! let event_loop = EventLoop::new()?;
//! let cx = event_loop.cx();
//! let received = event_loop.block_on(async {
//!     let listener = TcpListener::bind(cx, "127.0.0.1:0").await?;
//!     let sender = TcpStream::connect(cx, listener.local_addr()?).await?;
//!     sender.write_all(b"hello").await?;
//!     let (receiver, _) = listener.accept().await?;
//!     let mut buffer = [0; 5];
//!     receiver.read_exact(&mut buffer).await?;
//!     std::io::Result::Ok(buffer)
//! })??;
//! assert_eq!(received, *b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accept;
mod addr;
#[cfg(unix)]
mod backoff;
#[cfg(unix)]
pub mod pipe;
#[cfg(unix)]
mod sigpipe;
mod socket;
mod split;
mod stream;
mod tcp_listener;
mod tcp_stream;
#[cfg(feature = "futures-io")]
mod traits;
mod transfer;
mod udp;
#[cfg(unix)]
mod unix_addr;
#[cfg(unix)]
mod unix_datagram;
#[cfg(unix)]
mod unix_listener;
#[cfg(unix)]
mod unix_stream;

#[cfg(unix)]
pub(crate) use self::addr::first_that_works;
pub use self::addr::{ToAddrs, lookup_host};
pub use self::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use self::stream::Stream;
pub use self::tcp_listener::{ListenOptions, TcpListener};
pub use self::tcp_stream::TcpStream;
pub use self::udp::UdpSocket;
#[cfg(unix)]
pub use self::unix_datagram::UnixDatagram;
#[cfg(unix)]
pub use self::unix_listener::UnixListener;
#[cfg(unix)]
pub use self::unix_stream::UnixStream;

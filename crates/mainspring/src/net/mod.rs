//! Sockets and pipes, as futures.
//!
//! The types do what their namesakes of the standard library do, and wait without blocking the loop. What is not
//! said to be otherwise is cancel safe: a future that is dropped has done nothing.
//!
//! Buffering, lines and copying are in other crates: with the feature `futures-io`, streams have the traits that
//! `futures-util`, `futures-lite` and others build on. Options of sockets that are not here can be set with any crate
//! that takes a borrowed descriptor, since all of these have [`AsFd`](std::os::fd::AsFd).

mod accept;
mod addr;
pub mod pipe;
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
mod unix_addr;
mod unix_datagram;
mod unix_listener;
mod unix_stream;

pub use self::addr::{ToAddrs, lookup_host};
pub use self::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use self::stream::Stream;
pub use self::tcp_listener::{ListenOptions, TcpListener};
pub use self::tcp_stream::TcpStream;
pub use self::udp::UdpSocket;
pub use self::unix_datagram::UnixDatagram;
pub use self::unix_listener::UnixListener;
pub use self::unix_stream::UnixStream;

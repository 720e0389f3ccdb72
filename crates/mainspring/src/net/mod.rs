//! Sockets and pipes, as futures.

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

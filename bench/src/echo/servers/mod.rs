//! The same server on each peer: whatever a connection sends is sent back.

mod buffers;
mod calloop;
mod compio;
mod epoll;
mod libuv;
mod mainspring;
mod mio;
mod monoio;
mod node;
mod smol;
mod tokio;
mod uring;
mod uring_poll;
mod uring_recv;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use clap::ValueEnum;
use rustix::process::{Signal, set_parent_process_death_signal};
use socket2::{Domain, Socket, Type};

use crate::processors::pin_to;

/// How many bytes a server reads at once.
const BUFFER: usize = 4096;

/// How many events a server takes at once, wherever that is not fixed by the peer: where it is, it is
/// as many.
const EVENTS: usize = 1024;

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Server {
    Epoll,
    EpollEdge,
    UringPoll,
    UringPollOnce,
    UringRecv,
    Mainspring,
    Mio,
    Libuv,
    Tokio,
    Smol,
    Calloop,
    Monoio,
    MonoioUring,
    Compio,
    Node,
}

impl Server {
    pub fn label(self) -> &'static str {
        match self {
            Self::Epoll => "raw epoll",
            Self::EpollEdge => "raw epoll, edge-triggered",
            Self::UringPoll => "raw io_uring, multishot poll",
            Self::UringPollOnce => "raw io_uring, poll again",
            Self::UringRecv => "raw io_uring, completions",
            Self::Mainspring => "mainspring",
            Self::Mio => "mio",
            Self::Libuv => "libuv",
            Self::Tokio => "tokio",
            Self::Smol => "smol",
            Self::Calloop => "calloop",
            Self::Monoio => "monoio, epoll",
            Self::MonoioUring => "monoio, io_uring",
            Self::Compio => "compio, io_uring",
            Self::Node => "Node",
        }
    }

    /// Why it cannot be on this machine, if it cannot.
    pub fn absent(self) -> Option<String> {
        match self {
            Self::UringPoll
            | Self::UringPollOnce
            | Self::UringRecv
            | Self::MonoioUring
            | Self::Compio => uring::absent(),
            Self::Node => node::absent(),
            _ => None,
        }
    }

    /// Serves until the clients have closed all connections.
    fn run(self, streams: Vec<TcpStream>) {
        match self {
            Self::Epoll => epoll::run_level(streams),
            Self::EpollEdge => epoll::run_edge(streams),
            Self::UringPoll => uring_poll::run(streams, true),
            Self::UringPollOnce => uring_poll::run(streams, false),
            Self::UringRecv => uring_recv::run(streams),
            Self::Mainspring => mainspring::run(streams),
            Self::Mio => mio::run(streams),
            Self::Libuv => libuv::run(streams),
            Self::Tokio => tokio::run(streams),
            Self::Smol => smol::run(streams),
            Self::Calloop => calloop::run(streams),
            Self::Monoio => monoio::run_epoll(streams),
            Self::MonoioUring => monoio::run_uring(streams),
            Self::Compio => compio::run(streams),
            Self::Node => unreachable!("accepts by itself"),
        }
    }
}

/// Is a server, in this process: says at which port, takes as many connections, and serves them.
pub fn serve(server: Server, connections: usize, processor: Option<usize>) {
    if let Some(processor) = processor {
        pin_to(&[processor]);
    }
    // Without it, one whose client has gone before it connected would wait for ever.
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    if server == Server::Node {
        node::become_server(connections);
    }
    let listener = listen();
    println!("{}", listener.local_addr().unwrap().port());
    let streams = (0..connections).map(|_| accept(&listener)).collect();
    server.run(streams);
}

fn listen() -> TcpListener {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    socket.listen(BACKLOG).unwrap();
    socket.into()
}

fn accept(listener: &TcpListener) -> TcpStream {
    let stream = listener.accept().unwrap().0;
    stream.set_nodelay(true).unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}

/// Reads once, and sends back what was read: so many bytes, 0 if there was nothing. `None` if the client
/// has closed.
///
/// Everybody uses this who may read and write a socket by himself.
fn echo<S>(stream: &S, buffer: &mut [u8]) -> Option<usize>
where
    for<'a> &'a S: Read + Write,
{
    let mut stream = stream;
    let count = match stream.read(buffer) {
        Ok(0) => return None,
        Ok(count) => count,
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(0),
        Err(error) => panic!("cannot read: {error}"),
    };
    let written = stream.write(&buffer[..count]).unwrap();
    assert_eq!(written, count, "what is in flight fits into the socket");
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::client::Client;
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn every_server_echoes_until_all_connections_are_closed() {
        for &server in Server::value_variants() {
            if server == Server::Node || server.absent().is_some() {
                continue;
            }
            let listener = listen();
            let port = listener.local_addr().unwrap().port();
            let serving = thread::spawn(move || {
                server.run((0..5).map(|_| accept(&listener)).collect());
            });
            let mut client = Client::connect(port, 5);
            assert!(client.exchange(1_000, Instant::now() + Duration::from_secs(60)));
            client.close();
            serving.join().unwrap();
        }
    }
}

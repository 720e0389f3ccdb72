//! The same server on each peer, with two threads.

mod compio;
mod epoll;
mod mainspring;
mod monoio;
mod node;
mod smol;
mod tokio;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;

use clap::ValueEnum;
use rustix::process::{Signal, set_parent_process_death_signal};
use socket2::{Domain, Socket, Type};

use crate::processors::pin_to;

/// How many threads serve.
const THREADS: usize = 2;

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Server {
    Epoll,
    Mainspring,
    Tokio,
    TokioTwice,
    Smol,
    Monoio,
    Compio,
    Node,
    NodeTwice,
}

impl Server {
    const ALL: &[Self] = &[
        Self::Epoll,
        Self::Mainspring,
        Self::Tokio,
        Self::TokioTwice,
        Self::Smol,
        Self::Monoio,
        Self::Compio,
        Self::Node,
        Self::NodeTwice,
    ];

    /// Those that can run here.
    pub fn available() -> Vec<Self> {
        let has_node = crate::node::version().is_some();
        let is_available = |server: &Self| match server {
            Self::Node | Self::NodeTwice => has_node,
            Self::Compio => compio::is_available(),
            _ => true,
        };
        Self::ALL.iter().copied().filter(is_available).collect()
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Epoll => "raw epoll",
            Self::Mainspring => "mainspring",
            Self::Tokio => "tokio",
            Self::TokioTwice => "tokio ×2",
            Self::Smol => "smol",
            Self::Monoio => "monoio",
            Self::Compio => "compio",
            Self::Node => "Node",
            Self::NodeTwice => "Node ×2",
        }
    }

    /// Says its port, and serves until the process ends.
    fn run(self, say_port: impl FnOnce(u16)) {
        match self {
            Self::Epoll => each(say_port, epoll::run),
            Self::Mainspring => mainspring::run(say_port),
            Self::Tokio => {
                let listener = listener(0);
                say_port(port(&listener));
                tokio::run(listener);
            }
            Self::TokioTwice => each(say_port, tokio::run_on_this_thread),
            Self::Smol => each(say_port, smol::run),
            Self::Monoio => each(say_port, monoio::run),
            Self::Compio => each(say_port, compio::run),
            Self::Node => node::run(0, say_port),
            Self::NodeTwice => node::run(THREADS, say_port),
        }
    }
}

/// Is a server, in this process: says at which port, and serves until it is killed.
pub fn serve(server: Server, processors: &[usize]) {
    pin_to(processors);
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    server.run(|port| println!("{port}"));
}

/// Runs a server on each thread, which has a listener of its own: the kernel spreads the connections.
fn each(say_port: impl FnOnce(u16), run: fn(TcpListener)) {
    let first = listener(0);
    let port = port(&first);
    let others = (1..THREADS).map(|_| listener(port));
    let listeners: Vec<_> = std::iter::once(first).chain(others).collect();
    say_port(port);
    thread::scope(|scope| {
        for listener in listeners {
            scope.spawn(move || run(listener));
        }
    });
}

fn listener(port: u16) -> TcpListener {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into()).unwrap();
    socket.listen(BACKLOG).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket.into()
}

fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().unwrap().port()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::answer;
    use std::sync::mpsc;

    /// The kernel chooses which thread of a server gets a connection: among as many each gets some.
    const CONNECTIONS: usize = 50;

    #[test]
    fn every_server_gives_the_same_answer() {
        for server in Server::available() {
            let (say, port) = mpsc::channel();
            thread::spawn(move || server.run(|port| say.send(port).unwrap()));
            let port = port.recv().unwrap();
            for _ in 0..CONNECTIONS {
                answer::check(port);
            }
        }
    }
}

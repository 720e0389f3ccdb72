//! The load: a number of connections, each of which has one message in flight. The same for every server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{CreateFlags, Event, EventData, EventFlags, add, create, wait};
use rustix::io::retry_on_intr;

use crate::table::LIMIT;

/// The size of a message, in bytes.
pub const MESSAGE: usize = 64;

/// A server that does not answer for so long never will. Under a tool that counts it takes seconds until it has
/// accepted many connections.
const SILENCE: Duration = LIMIT;

pub struct Client {
    poller: OwnedFd,
    connections: Vec<Connection>,
    events: Vec<Event>,
}

struct Connection {
    stream: TcpStream,
    /// Its number, and how many messages it has sent: no two messages are the same.
    number: u64,
    sent: u64,
    message: [u8; MESSAGE],
    /// How much of the message has come back.
    received: usize,
}

impl Client {
    pub fn connect(port: u16, connections: usize) -> Self {
        let poller = create(CreateFlags::CLOEXEC).unwrap();
        let connections: Vec<_> = (0..connections as u64)
            .map(|number| Connection::new(port, number))
            .inspect(|connection| {
                let flags = EventFlags::IN | EventFlags::ET;
                add(&poller, &connection.stream, EventData::new_u64(connection.number), flags)
                    .unwrap();
            })
            .collect();
        let none = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let events = vec![none; connections.len()];
        Self { poller, connections, events }
    }

    /// Sends so many messages, each when the one before has come back, and returns when none is in
    /// flight any more. Stops, and returns `false`, when the time is over.
    pub fn exchange(&mut self, requests: usize, until: Instant) -> bool {
        let first = requests.min(self.connections.len());
        for connection in &mut self.connections[..first] {
            connection.send();
        }
        let (mut sent, mut answered) = (first, 0);
        let silence = Timespec { tv_sec: SILENCE.as_secs() as i64, tv_nsec: 0 };
        while answered < requests {
            let count = retry_on_intr(|| wait(&self.poller, &mut self.events[..], Some(&silence)));
            let count = count.unwrap();
            assert!(count > 0, "the server does not answer");
            for event in &self.events[..count] {
                let connection = &mut self.connections[event.data.u64() as usize];
                if !connection.receive() {
                    continue;
                }
                answered += 1;
                if sent < requests {
                    connection.send();
                    sent += 1;
                }
            }
            if Instant::now() > until {
                return false;
            }
        }
        true
    }

    /// Closes the connections, and waits until the server has done so.
    pub fn close(self) {
        for connection in &self.connections {
            connection.stream.shutdown(Shutdown::Write).unwrap();
        }
        for mut connection in self.connections {
            connection.stream.set_nonblocking(false).unwrap();
            connection.stream.set_read_timeout(Some(SILENCE)).unwrap();
            let rest = connection.stream.read(&mut [0]).expect("the server closes");
            assert_eq!(rest, 0, "nothing comes that was not sent");
        }
    }
}

impl Connection {
    fn new(port: u16, number: u64) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        Self { stream, number, sent: 0, message: [0; MESSAGE], received: MESSAGE }
    }

    fn send(&mut self) {
        assert_eq!(self.received, MESSAGE, "one message is in flight");
        let mut word = (self.number << 40 | self.sent).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for bytes in self.message.chunks_exact_mut(8) {
            bytes.copy_from_slice(&word.to_ne_bytes());
            word = word.rotate_left(7) ^ self.sent;
        }
        let written = self.stream.write(&self.message).unwrap();
        assert_eq!(written, MESSAGE, "a message fits into the socket");
        self.received = 0;
        self.sent += 1;
    }

    /// Takes what has come. Returns whether it was the end of a message.
    fn receive(&mut self) -> bool {
        let mut buffer = [0; 2 * MESSAGE];
        let count = self.stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the server has closed");
        let expected = &self.message[self.received..];
        assert!(expected.starts_with(&buffer[..count]), "what was sent comes back");
        self.received += count;
        self.received == MESSAGE
    }
}

//! The floor: epoll, level-triggered. Sees where a request ends, and looks at nothing else of it.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use rustix::event::epoll::{CreateFlags, Event, EventData, EventFlags, add, create, wait};

use crate::http::answer::ANSWER;

/// How many bytes are read at once.
const BUFFER: usize = 4096;

/// How many events are taken at once.
const EVENTS: usize = 1024;

/// What a request ends with.
const END: &[u8] = b"\r\n\r\n";

struct Connection {
    stream: TcpStream,
    /// How many bytes of the end of a request have come last.
    matched: usize,
}

pub fn run(listener: TcpListener) {
    let poller = create(CreateFlags::CLOEXEC).unwrap();
    let listening = listener.as_raw_fd() as usize;
    add(&poller, &listener, EventData::new_u64(listening as u64), EventFlags::IN).unwrap();
    // By the number of the descriptor.
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut buffer = [0; BUFFER];
    let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; EVENTS];
    loop {
        let count = wait(&poller, &mut events[..], None).unwrap();
        for event in &events[..count] {
            let number = event.data.u64() as usize;
            if number == listening {
                while let Some(stream) = accept(&listener) {
                    let number = stream.as_raw_fd() as usize;
                    let data = EventData::new_u64(number as u64);
                    add(&poller, &stream, data, EventFlags::IN).unwrap();
                    let length = connections.len().max(number + 1);
                    connections.resize_with(length, || None);
                    connections[number] = Some(Connection { stream, matched: 0 });
                }
            } else {
                let connection = connections[number].as_mut().expect("a closed one has no events");
                if !connection.answer(&mut buffer) {
                    connections[number] = None;
                }
            }
        }
    }
}

fn accept(listener: &TcpListener) -> Option<TcpStream> {
    match listener.accept() {
        Ok((stream, _)) => {
            stream.set_nodelay(true).unwrap();
            stream.set_nonblocking(true).unwrap();
            Some(stream)
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(error) => panic!("cannot accept: {error}"),
    }
}

impl Connection {
    /// Reads once, and answers what has come. Returns whether the connection is still open.
    fn answer(&mut self, buffer: &mut [u8]) -> bool {
        // A client that is gone may have reset the connection.
        let Ok(count @ 1..) = self.stream.read(buffer) else { return false };
        match self.requests(&buffer[..count]) {
            0 => true,
            1 => self.stream.write(ANSWER).is_ok_and(|written| written == ANSWER.len()),
            many => self.stream.write_all(&ANSWER.repeat(many)).is_ok(),
        }
    }

    /// How many requests end in these bytes.
    fn requests(&mut self, bytes: &[u8]) -> usize {
        let mut requests = 0;
        for &byte in bytes {
            self.matched = if byte == END[self.matched] {
                self.matched + 1
            } else {
                usize::from(byte == END[0])
            };
            if self.matched == END.len() {
                requests += 1;
                self.matched = 0;
            }
        }
        requests
    }
}

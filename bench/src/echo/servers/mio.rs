//! mio: edge-triggered; which connection an event belongs to is looked up in a vector.

use std::io::ErrorKind;
use std::net::TcpStream;

use mio::{Events, Interest, Poll, Token};

use super::{BUFFER, EVENTS, echo};

pub fn run(streams: Vec<TcpStream>) {
    let mut poll = Poll::new().unwrap();
    let mut open = streams.len();
    let mut streams: Vec<_> = streams
        .into_iter()
        .enumerate()
        .map(|(index, stream)| {
            let mut stream = mio::net::TcpStream::from_std(stream);
            poll.registry().register(&mut stream, Token(index), Interest::READABLE).unwrap();
            Some(stream)
        })
        .collect();
    let mut buffer = [0; BUFFER];
    let mut events = Events::with_capacity(EVENTS);
    while open > 0 {
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            result => result.unwrap(),
        }
        for event in &events {
            let slot = &mut streams[event.token().0];
            let stream = slot.as_ref().expect("a closed one has no events");
            loop {
                match echo(stream, &mut buffer) {
                    None => {
                        *slot = None;
                        open -= 1;
                        break;
                    }
                    // There may be more, be it the end.
                    Some(count) if count == BUFFER || (count > 0 && event.is_read_closed()) => {}
                    Some(_) => break,
                }
            }
        }
    }
}

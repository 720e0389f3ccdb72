//! The floor: epoll, level-triggered or edge-triggered, and nothing else.

use std::net::TcpStream;

use rustix::event::epoll::{CreateFlags, Event, EventData, EventFlags, add, create, wait};
use rustix::io::retry_on_intr;

use super::{BUFFER, EVENTS, echo};

pub fn run_level(streams: Vec<TcpStream>) {
    run(streams, EventFlags::IN, |stream, _, buffer| echo(stream, buffer).is_some());
}

pub fn run_edge(streams: Vec<TcpStream>) {
    let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
    run(streams, flags, |stream, event, buffer| {
        loop {
            match echo(stream, buffer) {
                None => return false,
                // There may be more, be it the end.
                Some(count) if count == BUFFER => {}
                Some(count) if count > 0 && event.contains(EventFlags::RDHUP) => {}
                Some(_) => return true,
            }
        }
    });
}

/// `echo_all` reads what the events of a connection ask for, and returns whether it is still open.
fn run(
    streams: Vec<TcpStream>,
    flags: EventFlags,
    echo_all: impl Fn(&TcpStream, EventFlags, &mut [u8; BUFFER]) -> bool,
) {
    let poller = create(CreateFlags::CLOEXEC).unwrap();
    for (index, stream) in streams.iter().enumerate() {
        add(&poller, stream, EventData::new_u64(index as u64), flags).unwrap();
    }
    let mut open = streams.len();
    let mut streams: Vec<_> = streams.into_iter().map(Some).collect();
    let mut buffer = [0; BUFFER];
    let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; EVENTS];
    while open > 0 {
        let count = retry_on_intr(|| wait(&poller, &mut events[..], None)).unwrap();
        for event in &events[..count] {
            let slot = &mut streams[event.data.u64() as usize];
            let stream = slot.as_ref().expect("a closed one has no events");
            let event_flags = event.flags;
            if !echo_all(stream, event_flags, &mut buffer) {
                // The last descriptor of a connection takes it out of the poller, too.
                *slot = None;
                open -= 1;
            }
        }
    }
}

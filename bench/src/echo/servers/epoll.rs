//! The floor: epoll, level-triggered, and nothing else.

use std::net::TcpStream;

use rustix::event::epoll::{CreateFlags, Event, EventData, EventFlags, add, create, wait};

use super::{BUFFER, EVENTS, echo};

pub fn run(streams: Vec<TcpStream>) {
    let poller = create(CreateFlags::CLOEXEC).unwrap();
    for (index, stream) in streams.iter().enumerate() {
        add(&poller, stream, EventData::new_u64(index as u64), EventFlags::IN).unwrap();
    }
    let mut open = streams.len();
    let mut streams: Vec<_> = streams.into_iter().map(Some).collect();
    let mut buffer = [0; BUFFER];
    let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; EVENTS];
    while open > 0 {
        let count = wait(&poller, &mut events[..], None).unwrap();
        for event in &events[..count] {
            let slot = &mut streams[event.data.u64() as usize];
            let stream = slot.as_ref().expect("a closed one has no events");
            if echo(stream, &mut buffer).is_none() {
                // The last descriptor of a connection takes it out of the poller, too.
                *slot = None;
                open -= 1;
            }
        }
    }
}

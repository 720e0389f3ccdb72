//! calloop: a connection is a generic event source, level-triggered; what callbacks share is the loop's
//! data.

use std::net::TcpStream;

use calloop::generic::Generic;
use calloop::{EventLoop, Interest, Mode, PostAction};

use super::{BUFFER, echo};

struct Shared {
    open: usize,
    buffer: [u8; BUFFER],
}

pub fn run(streams: Vec<TcpStream>) {
    let mut event_loop: EventLoop<'_, Shared> = EventLoop::try_new().unwrap();
    let mut shared = Shared { open: streams.len(), buffer: [0; BUFFER] };
    for stream in streams {
        let source = Generic::new(stream, Interest::READ, Mode::Level);
        event_loop
            .handle()
            .insert_source(source, |_, stream, shared| {
                if echo::<TcpStream>(stream, &mut shared.buffer).is_some() {
                    return Ok(PostAction::Continue);
                }
                shared.open -= 1;
                Ok(PostAction::Remove)
            })
            .unwrap();
    }
    while shared.open > 0 {
        event_loop.dispatch(None, &mut shared).unwrap();
    }
}

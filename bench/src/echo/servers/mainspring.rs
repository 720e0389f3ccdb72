//! mainspring: a connection is a watcher with a callback for reading, level-triggered.

use std::cell::RefCell;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::rc::Rc;

use mainspring::{EventLoop, Watch};

use super::{BUFFER, echo};

pub fn run(streams: Vec<TcpStream>) {
    let event_loop = EventLoop::builder().build().unwrap();
    let buffer = Rc::new(RefCell::new([0; BUFFER]));
    for stream in streams {
        let buffer = Rc::clone(&buffer);
        let watch = Watch::new().read(move |cx, stream: &TcpStream| {
            if echo(stream, &mut *buffer.borrow_mut()).is_none() {
                cx.unwatch(stream.as_raw_fd());
            }
        });
        event_loop.cx().watch(stream, watch).unwrap();
    }
    event_loop.run_until_idle().unwrap();
}

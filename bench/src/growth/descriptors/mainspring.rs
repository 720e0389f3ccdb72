//! mainspring: a watcher with a callback for reading.

use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::Duration;

use mainspring::{EventLoop, Watch};

use super::{Member, Ring, Watches};

pub struct Mainspring {
    event_loop: EventLoop,
    ring: Rc<Ring>,
}

impl Watches for Mainspring {
    fn new(ring: Rc<Ring>) -> Self {
        Self { event_loop: EventLoop::new().unwrap(), ring }
    }

    fn register(&mut self) {
        for index in 0..self.ring.descriptors.len() {
            let member = Member { ring: Rc::clone(&self.ring), index };
            let watch = Watch::new().read(|_, member: &Member| member.event());
            self.event_loop.cx().watch(member, watch).unwrap();
        }
    }

    fn run(&mut self, events: usize) {
        self.ring.begin(events);
        while !self.ring.is_done() {
            self.event_loop.turn(None).unwrap();
        }
    }

    fn unregister(&mut self) {
        for &index in &self.ring.order {
            assert!(self.event_loop.cx().unwatch(self.ring.descriptors[index].as_raw_fd()));
        }
        self.event_loop.turn(Duration::ZERO).unwrap();
    }
}

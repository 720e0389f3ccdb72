//! The floor: epoll, level-triggered.

use std::os::fd::OwnedFd;
use std::rc::Rc;

use rustix::event::epoll::{CreateFlags, Event, EventData, EventFlags, add, create, delete, wait};

use super::{Ring, Watches};

/// How many events are taken at once.
const EVENTS: usize = 64;

pub struct Epoll {
    poller: OwnedFd,
    ring: Rc<Ring>,
}

impl Watches for Epoll {
    fn new(ring: Rc<Ring>) -> Self {
        Self { poller: create(CreateFlags::CLOEXEC).unwrap(), ring }
    }

    fn register(&mut self) {
        for (index, descriptor) in self.ring.descriptors.iter().enumerate() {
            let data = EventData::new_u64(index as u64);
            add(&self.poller, descriptor, data, EventFlags::IN).unwrap();
        }
    }

    fn run(&mut self, events: usize) {
        let none = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut buffer = [none; EVENTS];
        self.ring.begin(events);
        while !self.ring.is_done() {
            let count = wait(&self.poller, &mut buffer[..], None).unwrap();
            buffer[..count].iter().for_each(|event| self.ring.event(event.data.u64() as usize));
        }
    }

    fn unregister(&mut self) {
        for &index in &self.ring.order {
            delete(&self.poller, &self.ring.descriptors[index]).unwrap();
        }
    }
}

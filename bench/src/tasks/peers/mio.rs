//! mio has no queue: this is what is written with it. A vector behind a lock, a flag that says whether the loop has to
//! be woken, and mio's waker. A turn takes all that there is, and looks for events once.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mio::{Events, Poll, Token, Waker};

use super::{Here, Loop, Message, boxed};

/// As many events at once as others take.
const EVENTS: usize = 1_024;

#[derive(Default)]
struct Queue {
    tasks: Vec<Message>,
    is_asleep: bool,
}

pub struct Shared {
    queue: Mutex<Queue>,
    waker: Waker,
}

impl Shared {
    fn push(&self, message: Message) {
        let mut queue = self.queue.lock().unwrap();
        queue.tasks.push(message);
        let is_asleep = mem::take(&mut queue.is_asleep);
        drop(queue);
        if is_asleep {
            self.waker.wake().unwrap();
        }
    }
}

pub struct Mio {
    poll: Poll,
    shared: Arc<Shared>,
}

impl Loop for Mio {
    type Poster = Arc<Shared>;

    fn new() -> Self {
        let poll = Poll::new().unwrap();
        let waker = Waker::new(poll.registry(), Token(0)).unwrap();
        Self { poll, shared: Arc::new(Shared { queue: Mutex::default(), waker }) }
    }

    fn poster(&self) -> Self::Poster {
        Arc::clone(&self.shared)
    }

    fn post(shared: &Self::Poster, task: impl FnOnce() + Send + 'static) {
        shared.push(boxed(task));
    }

    fn stop(shared: &Self::Poster) {
        shared.push(None);
    }

    fn run(&mut self) {
        let mut events = Events::with_capacity(EVENTS);
        let mut taken = Vec::new();
        loop {
            let mut queue = self.shared.queue.lock().unwrap();
            mem::swap(&mut queue.tasks, &mut taken);
            queue.is_asleep = taken.is_empty();
            drop(queue);
            let timeout = if taken.is_empty() { None } else { Some(Duration::ZERO) };
            self.poll.poll(&mut events, timeout).unwrap();
            for message in taken.drain(..) {
                match message {
                    Some(task) => task(),
                    None => return,
                }
            }
        }
    }
}

type Tasks = VecDeque<Box<dyn FnOnce(&MioHere)>>;

#[derive(Default)]
pub struct MioHere {
    queue: RefCell<Tasks>,
}

impl Here for MioHere {
    fn run(first: impl FnOnce(&Self) + 'static) {
        let mut poll = Poll::new().unwrap();
        let mut events = Events::with_capacity(EVENTS);
        let here = Self::default();
        let mut taken = Tasks::new();
        first(&here);
        loop {
            mem::swap(&mut *here.queue.borrow_mut(), &mut taken);
            if taken.is_empty() {
                return;
            }
            poll.poll(&mut events, Some(Duration::ZERO)).unwrap();
            for task in taken.drain(..) {
                task(&here);
            }
        }
    }

    fn post(&self, task: impl FnOnce(&Self) + 'static) {
        self.queue.borrow_mut().push_back(Box::new(task));
    }
}

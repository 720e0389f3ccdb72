//! The least that does the job, and not a library: a vector of closures behind a lock, which the loop exchanges
//! for an empty one, and a flag beside it that says whether the loop has to be woken. On the loop's own thread
//! it is a `VecDeque` of closures. There are no panics, no bounds, no descriptors, no timers.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};

use rustix::event::{EventfdFlags, epoll, eventfd};

use super::inline::{Inline, SendInline};
use super::{Chains, Here, Loop};
use crate::tasks::tally::Link;

/// How the loop waits, and is woken.
pub trait Sleep: Send + Sync + 'static {
    /// On the loop's thread.
    fn new() -> Self;

    /// Returns when it was woken, and now and then for no reason.
    fn sleep(&self);

    fn wake(&self);
}

/// Parks its thread: a futex.
pub struct Park(Thread);

impl Sleep for Park {
    fn new() -> Self {
        Self(thread::current())
    }

    fn sleep(&self) {
        thread::park();
    }

    fn wake(&self) {
        self.0.unpark();
    }
}

/// Waits with epoll for an eventfd, as one does that has other descriptors.
pub struct Epoll {
    poller: OwnedFd,
    event: OwnedFd,
}

impl Sleep for Epoll {
    fn new() -> Self {
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap();
        // Edge-triggered, so that it need not be read.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&poller, &event, epoll::EventData::new_u64(0), flags).unwrap();
        Self { poller, event }
    }

    fn sleep(&self) {
        let mut events = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }];
        assert_eq!(epoll::wait(&self.poller, &mut events, None).unwrap(), 1);
    }

    fn wake(&self) {
        rustix::io::write(&self.event, &1_u64.to_ne_bytes()).unwrap();
    }
}

struct Queue {
    tasks: Vec<SendInline>,
    is_asleep: bool,
    is_over: bool,
}

pub struct Shared<S> {
    queue: Mutex<Queue>,
    sleep: S,
}

impl<S: Sleep> Shared<S> {
    #[inline]
    fn change(&self, change: impl FnOnce(&mut Queue)) {
        let mut queue = self.queue.lock().unwrap();
        change(&mut queue);
        let is_asleep = mem::take(&mut queue.is_asleep);
        drop(queue);
        if is_asleep {
            self.sleep.wake();
        }
    }
}

pub struct Floor<S> {
    shared: Arc<Shared<S>>,
}

impl<S: Sleep> Loop for Floor<S> {
    type Poster = Arc<Shared<S>>;

    fn new() -> Self {
        let queue = Mutex::new(Queue { tasks: Vec::new(), is_asleep: false, is_over: false });
        Self { shared: Arc::new(Shared { queue, sleep: S::new() }) }
    }

    fn poster(&self) -> Self::Poster {
        Arc::clone(&self.shared)
    }

    fn post(poster: &Self::Poster, task: impl FnOnce() + Send + 'static) {
        let task = SendInline::new(task);
        poster.change(|queue| queue.tasks.push(task));
    }

    fn stop(poster: &Self::Poster) {
        poster.change(|queue| queue.is_over = true);
    }

    fn run(&mut self) {
        let mut taken = Vec::new();
        loop {
            let mut queue = self.shared.queue.lock().unwrap();
            mem::swap(&mut queue.tasks, &mut taken);
            if taken.is_empty() {
                if queue.is_over {
                    return;
                }
                queue.is_asleep = true;
                drop(queue);
                self.shared.sleep.sleep();
                continue;
            }
            drop(queue);
            taken.drain(..).for_each(SendInline::run);
        }
    }
}

#[derive(Default)]
pub struct FloorHere {
    queue: RefCell<VecDeque<Inline<Self>>>,
}

impl FloorHere {
    fn pop(&self) -> Option<Inline<Self>> {
        self.queue.borrow_mut().pop_front()
    }
}

impl Here for FloorHere {
    fn run(first: impl FnOnce(&Self) + 'static) {
        let here = Self::default();
        first(&here);
        while let Some(task) = here.pop() {
            task.run(&here);
        }
    }

    fn post(&self, task: impl FnOnce(&Self) + 'static) {
        self.queue.borrow_mut().push_back(Inline::new(task));
    }
}

impl Chains for FloorHere {
    fn run(first: Link) {
        fn queue(here: &FloorHere, link: Link) {
            here.post(move |here| {
                if let Some(next) = link.next() {
                    queue(here, next);
                }
            });
        }
        <Self as Here>::run(move |here| queue(here, first));
    }
}

//! tokio: a task for each descriptor, which waits until it is readable.

use std::rc::Rc;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, LocalSet, spawn_local};

use super::{Member, Ring, Watches};

pub struct Tokio {
    tasks: Vec<Option<JoinHandle<()>>>,
    local: LocalSet,
    runtime: Runtime,
    done: Rc<Notify>,
    ring: Rc<Ring>,
}

impl Watches for Tokio {
    fn new(ring: Rc<Ring>) -> Self {
        let runtime = Builder::new_current_thread().enable_io().build().unwrap();
        let tasks = Vec::with_capacity(ring.descriptors.len());
        Self { tasks, local: LocalSet::new(), runtime, done: Rc::default(), ring }
    }

    fn register(&mut self) {
        self.local.block_on(&self.runtime, async {
            for index in 0..self.ring.descriptors.len() {
                let member = Member { ring: Rc::clone(&self.ring), index };
                self.tasks.push(Some(spawn_local(watch(member, Rc::clone(&self.done)))));
            }
            polled_once().await;
        });
    }

    fn run(&mut self, events: usize) {
        self.local.block_on(&self.runtime, async {
            self.ring.begin(events);
            self.done.notified().await;
        });
    }

    fn unregister(&mut self) {
        self.local.block_on(&self.runtime, async {
            for &index in &self.ring.order {
                self.tasks[index].take().expect("once each").abort();
            }
            polled_once().await;
        });
        self.tasks.clear();
    }
}

/// Tasks are run in the order in which they were made ready: when a new one has ended, the ones before it have
/// been polled, or dropped.
async fn polled_once() {
    spawn_local(async {}).await.unwrap();
}

async fn watch(member: Member, done: Rc<Notify>) {
    // SAFETY: a member always has the same descriptor, which stays open as long as the member is there.
    let member = unsafe { AsyncFd::register_with_interest(member, Interest::READABLE) }.unwrap();
    loop {
        member.readable().await.unwrap().clear_ready();
        member.get_ref().event();
        if member.get_ref().ring.is_done() {
            done.notify_one();
        }
    }
}

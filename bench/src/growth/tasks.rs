//! As many tasks as the population are queued at once, then run.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mainspring::EventLoop;
use tokio::runtime::Builder;

use super::{Peer, TASKS, report};
use crate::measure::thread_cpu;

/// How many tasks ran. Only one thread writes.
static RAN: AtomicUsize = AtomicUsize::new(0);

/// What a task captures, three words, and uses when it runs.
#[derive(Clone, Copy)]
struct Capture {
    ran: &'static AtomicUsize,
    add: usize,
    subtract: usize,
}

impl Capture {
    fn run(self) {
        let ran = self.ran.load(Ordering::Relaxed) + self.add - self.subtract;
        self.ran.store(ran, Ordering::Relaxed);
    }
}

/// Queues what other threads could queue as well, and runs it.
pub fn measure(peer: Peer, population: usize, rounds: usize) {
    match peer {
        Peer::Floor => floor(population, rounds),
        Peer::Mainspring => mainspring(population, rounds),
        Peer::Tokio => tokio(population, rounds),
        Peer::Libuv => panic!("it does not do this here"),
    }
}

/// A round that is not measured, so that no population pays for fresh memory, then the others.
fn repeat(population: usize, rounds: usize, mut round: impl FnMut(Capture)) {
    let capture = Capture { ran: &RAN, add: 3, subtract: 2 };
    let mut once = || {
        let (cpu, ()) = thread_cpu(|| round(capture));
        assert_eq!(RAN.swap(0, Ordering::Relaxed), population, "each task runs once");
        cpu
    };
    once();
    let all: Duration = (0..rounds).map(|_| once()).sum();
    report(TASKS, all, population * rounds);
}

/// A queue of boxes, locked for each of them.
fn floor(population: usize, rounds: usize) {
    type Task = Box<dyn FnOnce() + Send>;
    let queue: Mutex<VecDeque<Task>> = Mutex::default();
    let pop = || queue.lock().expect("nobody panics").pop_front();
    repeat(population, rounds, |capture| {
        for _ in 0..population {
            queue.lock().expect("nobody panics").push_back(Box::new(move || capture.run()));
        }
        while let Some(task) = pop() {
            task();
        }
    });
}

fn mainspring(population: usize, rounds: usize) {
    // By default a lane refuses tasks before there are a million.
    let event_loop = EventLoop::builder().high_water_mark(population).build().unwrap();
    let handle = event_loop.handle();
    repeat(population, rounds, |capture| {
        for _ in 0..population {
            handle.submit(move |_| capture.run()).unwrap();
        }
        event_loop.run_until_idle().unwrap();
    });
}

fn tokio(population: usize, rounds: usize) {
    let runtime = Builder::new_current_thread().build().unwrap();
    let handle = runtime.handle().clone();
    repeat(population, rounds, |capture| {
        // Tasks are run in the order in which they were spawned: the last one is awaited.
        let last = Cell::new(None);
        for _ in 0..population {
            last.set(Some(handle.spawn(async move { capture.run() })));
        }
        runtime.block_on(last.take().expect("there is one")).unwrap();
    });
}

//! As many promises as the population wait at once, each with a handler, and are resolved in the order in which they
//! were made.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use mainspring::{EventLoop, LocalPromise};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local};

use super::{PROMISES, Peer, report};
use crate::measure::thread_cpu;

/// What the handlers were given: how often, and together.
type Tally = Rc<Cell<(usize, usize)>>;

fn add(tally: &Tally, value: usize) {
    let (count, sum) = tally.get();
    tally.set((count + 1, sum + value));
}

pub fn measure(peer: Peer, population: usize, rounds: usize) {
    match peer {
        Peer::Floor => floor(population, rounds),
        Peer::Mainspring => mainspring(population, rounds),
        Peer::Tokio => tokio(population, rounds),
        Peer::Libuv => panic!("it has none"),
    }
}

/// A round that is not measured, so that no population pays for fresh memory, then the others. Each promise is
/// resolved with its number.
fn repeat(population: usize, rounds: usize, mut round: impl FnMut(&Tally)) {
    let tally = Tally::default();
    let mut once = || {
        let (cpu, ()) = thread_cpu(|| round(&tally));
        let expected = (population, population * (population - 1) / 2);
        assert_eq!(tally.replace((0, 0)), expected, "each handler runs once, with its value");
        assert_eq!(Rc::strong_count(&tally), 1, "what was captured has been dropped");
        cpu
    };
    once();
    let all: Duration = (0..rounds).map(|_| once()).sum();
    report(PROMISES, all, population * rounds);
}

fn mainspring(population: usize, rounds: usize) {
    let event_loop = EventLoop::new().unwrap();
    let cx = event_loop.cx();
    repeat(population, rounds, |tally| {
        let mut resolvers = Vec::with_capacity(population);
        for _ in 0..population {
            let (promise, resolver) = LocalPromise::with_resolvers(cx);
            let tally = Rc::clone(tally);
            promise.then(move |_, value| add(&tally, value));
            resolvers.push(resolver);
        }
        for (number, resolver) in resolvers.iter().enumerate() {
            resolver.resolve(number);
        }
        event_loop.run_until_idle().unwrap();
    });
}

/// A task that awaits a channel.
fn tokio(population: usize, rounds: usize) {
    let runtime = Builder::new_current_thread().build().unwrap();
    let local = LocalSet::new();
    repeat(population, rounds, |tally| {
        local.block_on(&runtime, async {
            let mut senders = Vec::with_capacity(population);
            for _ in 0..population {
                let (sender, receiver) = oneshot::channel();
                let tally = Rc::clone(tally);
                spawn_local(async move { add(&tally, receiver.await.unwrap()) });
                senders.push(sender);
            }
            // Tasks are run in the order in which they were made ready: when a new one has ended, the others
            // wait, and in the end have run.
            spawn_local(async {}).await.unwrap();
            for (number, sender) in senders.into_iter().enumerate() {
                sender.send(number).unwrap();
            }
            spawn_local(async {}).await.unwrap();
        });
    });
}

/// A counted box with a boxed handler, and a queue of what is to run.
fn floor(population: usize, rounds: usize) {
    type Handler = Box<dyn FnOnce(usize)>;
    type Promise = RefCell<Option<Handler>>;
    repeat(population, rounds, |tally| {
        let mut queue: VecDeque<(Rc<Promise>, usize)> = VecDeque::new();
        let promises: Vec<Rc<Promise>> = (0..population)
            .map(|_| {
                let tally = Rc::clone(tally);
                Rc::new(RefCell::new(Some(Box::new(move |value| add(&tally, value)) as Handler)))
            })
            .collect();
        for (number, promise) in promises.into_iter().enumerate() {
            queue.push_back((promise, number));
        }
        while let Some((promise, value)) = queue.pop_front() {
            promise.take().expect("once each")(value);
        }
    });
}

//! One module for each peer, and what they implement.

mod floor;
mod floor_pool;
mod libuv;
mod mainspring;
mod mainspring_pool;
pub mod node;
mod smol;
mod tokio;

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

pub use self::floor::Floor;
pub use self::floor_pool::FloorPool;
pub use self::libuv::LibuvWork;
pub use self::mainspring::{MainspringLocal, MainspringShared};
pub use self::mainspring_pool::{MainspringDefault, MainspringOffload};
pub use self::smol::Smol;
pub use self::tokio::{Tokio, TokioDefault};

/// Values that come later, and what is done with them then, on one thread.
pub trait Promises {
    /// Links that wait for the first value.
    type Chain;

    fn new() -> Self;

    /// Makes `count` promises, one after the other: gives it a handler, which calls [`Step::end`], and
    /// resolves it with its number, from 0. At the end all handlers have run.
    fn single(&mut self, count: usize, step: Step);

    /// Makes a promise, and `links` handlers, each one of what the one before returns with
    /// [`Step::apply`]; the last one calls [`Step::end`]. At the end each of them waits. There are at least
    /// two.
    fn build(&mut self, links: usize, step: Step) -> Self::Chain;

    /// Resolves the first promise with 0. At the end all handlers have run, and nothing is left.
    fn settle(&mut self, chain: Self::Chain);

    /// What resolves a promise.
    type Resolver;

    /// Makes as many promises, each with a handler, which waits at the end.
    fn pend(&mut self, count: usize, step: Step, resolvers: &mut Vec<Self::Resolver>);

    /// Resolves each of them with its number, from 0. At the end all handlers have run.
    fn resolve(&mut self, resolvers: &mut Vec<Self::Resolver>);

    /// Makes as many groups of promises, and resolves each promise with its number in its group, from 0.
    /// When all of a group have come, their sum is handed to [`Step::end`], once.
    fn all(&mut self, groups: usize, inputs: usize, step: Step);
}

/// How many threads there are for blocking work: what libuv has if it is not told otherwise.
pub const THREADS: usize = 4;

/// Work on other threads.
pub trait Offload {
    fn new() -> Self;

    /// Has [`Step::job`] run by other threads for each of the numbers below `jobs`, `in_flight` of them at
    /// a time: when a result has come back to this thread, it is handed to [`Step::end`], and the
    /// next job is given away. At the end all of them have come back.
    fn round_trips(&mut self, jobs: usize, in_flight: usize, step: Step);
}

/// What a handler captures, three words, and uses when it runs.
#[derive(Clone, Copy)]
pub struct Step {
    tally: &'static Tally,
    add: u64,
    subtract: u64,
}

const _: () = assert!(size_of::<Step>() == 3 * size_of::<usize>());

impl Step {
    pub fn new(tally: &'static Tally) -> Self {
        Self { tally, add: black_box(3), subtract: black_box(2) }
    }

    /// One more.
    fn apply(self, value: u64) -> u64 {
        value + self.add - self.subtract
    }

    fn end(self, value: u64) {
        self.tally.add(value);
    }

    /// What another thread does, which is as good as nothing.
    fn job(self, number: u64) -> u64 {
        self.apply(number)
    }

    /// For the number of the next job.
    fn tally(self) -> &'static Tally {
        self.tally
    }
}

/// What the handlers of a run did. Only one thread writes: nothing is locked for it.
#[derive(Default)]
pub struct Tally {
    ended: AtomicU64,
    sum: AtomicU64,
    /// How many jobs were given away.
    given: AtomicU64,
}

impl Tally {
    pub fn new() -> &'static Self {
        Box::leak(Box::default())
    }

    fn add(&self, value: u64) {
        let add = |counter: &AtomicU64, value| {
            counter.store(counter.load(Ordering::Relaxed) + value, Ordering::Relaxed);
        };
        add(&self.ended, 1);
        add(&self.sum, value);
    }

    fn ended(&self) -> usize {
        self.ended.load(Ordering::Relaxed) as usize
    }

    /// The number of the next job, if there are as many.
    fn next(&self, jobs: usize) -> Option<u64> {
        let number = self.given.load(Ordering::Relaxed);
        if number == jobs as u64 {
            return None;
        }
        self.given.store(number + 1, Ordering::Relaxed);
        Some(number)
    }

    /// As many handlers ran as should, and this is the sum of what they were given. Begins anew.
    pub fn expect(&self, ended: usize, sum: u64) {
        let found = (self.ended.swap(0, Ordering::Relaxed), self.sum.swap(0, Ordering::Relaxed));
        assert_eq!(found, (ended as u64, sum), "each handler runs once, with the right value");
        self.given.store(0, Ordering::Relaxed);
    }
}

//! As many descriptors as the population are watched at once, and one of them is ready at a time.

mod epoll;
mod mainspring;
mod tokio;

use std::cell::Cell;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use self::epoll::Epoll;
use self::mainspring::Mainspring;
use self::tokio::Tokio;
use super::{EVENT, Peer, REGISTER, UNREGISTER, report};
use crate::measure::{Random, thread_cpu};

/// What a process has open besides.
const OTHERS: usize = 64;

/// How many descriptors a process may have, at the most that it may ask for.
fn most() -> usize {
    let limit = getrlimit(Resource::Nofile);
    limit.maximum.or(limit.current).map_or(usize::MAX, |limit| limit as usize)
}

/// Those populations that this process may have; the last one is the greatest that is possible if not all are.
pub fn allowed(populations: &[usize]) -> Vec<usize> {
    fit(populations, most().saturating_sub(OTHERS))
}

fn fit(populations: &[usize], most: usize) -> Vec<usize> {
    let mut fitting: Vec<_> = populations.iter().copied().filter(|&count| count <= most).collect();
    if fitting.len() < populations.len() && fitting.last().is_some_and(|&last| last < most) {
        fitting.push(most);
    }
    fitting
}

/// What the limit is, for the reader.
pub fn limit() -> String {
    match most() {
        usize::MAX => "a process may have any number of descriptors".to_owned(),
        most => format!("a process may have {most} descriptors"),
    }
}

/// Descriptors that become ready one after the other, in a random order.
struct Ring {
    descriptors: Vec<OwnedFd>,
    /// The order in which they become ready.
    order: Vec<usize>,
    next: Cell<usize>,
    /// How many events are still to come.
    left: Cell<usize>,
    /// Which one has been made ready.
    ready: Cell<usize>,
}

impl Ring {
    fn new(population: usize) -> Self {
        let most = Rlimit { current: Some(most() as u64), ..getrlimit(Resource::Nofile) };
        if most.current > getrlimit(Resource::Nofile).current {
            setrlimit(Resource::Nofile, most).expect("up to the maximum it may");
        }
        let make = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let descriptors = (0..population).map(|_| make().expect("so many are allowed")).collect();
        let mut order: Vec<_> = (0..population).collect();
        Random::new().shuffle(&mut order);
        let (next, left, ready) = (Cell::new(0), Cell::new(0), Cell::new(0));
        Self { descriptors, order, next, left, ready }
    }

    /// Makes the first one ready, of so many events.
    fn begin(&self, events: usize) {
        self.left.set(events);
        self.wake_next();
    }

    fn wake_next(&self) {
        let next = self.next.get();
        self.next.set((next + 1) % self.order.len());
        self.ready.set(self.order[next]);
        let written = rustix::io::write(&self.descriptors[self.order[next]], &1u64.to_ne_bytes());
        assert_eq!(written, Ok(8));
    }

    /// This one is ready: it is read, and the next one made ready.
    fn event(&self, index: usize) {
        assert_eq!(index, self.ready.get(), "the one that was made ready");
        assert_eq!(rustix::io::read(&self.descriptors[index], &mut [0; 8]), Ok(8));
        self.left.set(self.left.get() - 1);
        if self.left.get() > 0 {
            self.wake_next();
        }
    }

    fn is_done(&self) -> bool {
        self.left.get() == 0
    }
}

/// One descriptor of a ring, which stays open at least as long.
struct Member {
    ring: Rc<Ring>,
    index: usize,
}

impl Member {
    fn event(&self) {
        self.ring.event(self.index);
    }
}

impl AsFd for Member {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.descriptors[self.index].as_fd()
    }
}

impl AsRawFd for Member {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

/// A loop that watches descriptors.
trait Watches {
    fn new(ring: Rc<Ring>) -> Self;

    /// Watches all of the ring.
    fn register(&mut self);

    /// Makes the first one ready, and hands what is ready to the ring until it is done.
    fn run(&mut self, events: usize);

    /// Watches none of them any more, in the ring's order.
    fn unregister(&mut self);
}

pub fn measure(peer: Peer, population: usize, operations: usize) {
    match peer {
        Peer::Floor => times::<Epoll>(population, operations),
        Peer::Mainspring => times::<Mainspring>(population, operations),
        Peer::Tokio => times::<Tokio>(population, operations),
        Peer::Libuv => panic!("it does not do this here"),
    }
}

/// How often all are registered and unregistered at the most.
const ROUNDS: usize = 20;

/// The first round is not measured, so that no population pays for fresh memory.
fn times<W: Watches>(population: usize, operations: usize) {
    let ring = Rc::new(Ring::new(population));
    let mut peer = W::new(Rc::clone(&ring));
    let rounds = operations.div_ceil(population).min(ROUNDS);
    let (mut registering, mut unregistering) = (Duration::ZERO, Duration::ZERO);
    for round in 0..=rounds {
        let (register, ()) = thread_cpu(|| peer.register());
        if round == rounds {
            let (running, ()) = thread_cpu(|| peer.run(operations));
            assert!(ring.is_done(), "all events have come");
            report(EVENT, running, operations);
        }
        let (unregister, ()) = thread_cpu(|| peer.unregister());
        if round > 0 {
            registering += register;
            unregistering += unregister;
        }
    }
    drop(peer);
    assert_eq!(Rc::strong_count(&ring), 1, "what was captured has been dropped");
    report(REGISTER, registering, population * rounds);
    report(UNREGISTER, unregistering, population * rounds);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_population_is_what_the_limit_allows() {
        assert_eq!(fit(&[100, 1_000, 10_000], 100_000), [100, 1_000, 10_000]);
        assert_eq!(fit(&[100, 1_000, 10_000], 4_000), [100, 1_000, 4_000]);
        assert_eq!(fit(&[100, 1_000, 10_000], 1_000), [100, 1_000]);
    }
}

//! smol. A `LocalExecutor` is given closures by other threads through a channel; an `Executor` may be given tasks by
//! them. Both wait with smol's reactor.

use std::sync::Arc;

use smol::channel::{Receiver, Sender, bounded, unbounded};
use smol::future::yield_now;
use smol::{Executor, LocalExecutor, block_on};

use super::{Chains, Here, Loop, Message, boxed};
use crate::tasks::tally::Link;

pub struct Smol {
    executor: LocalExecutor<'static>,
    sender: Sender<Message>,
    receiver: Receiver<Message>,
}

impl Loop for Smol {
    type Poster = Sender<Message>;

    fn new() -> Self {
        let (sender, receiver) = unbounded();
        Self { executor: LocalExecutor::new(), sender, receiver }
    }

    fn poster(&self) -> Self::Poster {
        self.sender.clone()
    }

    fn post(sender: &Self::Poster, task: impl FnOnce() + Send + 'static) {
        assert!(sender.try_send(boxed(task)).is_ok());
    }

    fn stop(sender: &Self::Poster) {
        assert!(sender.try_send(None).is_ok());
    }

    fn run(&mut self) {
        let receiver = self.receiver.clone();
        let task = self.executor.spawn(async move {
            while let Ok(Some(task)) = receiver.recv().await {
                task();
            }
        });
        block_on(self.executor.run(task));
    }
}

/// A task for each closure.
pub struct SmolSpawn {
    executor: Arc<Executor<'static>>,
    over: (Sender<()>, Receiver<()>),
}

impl Loop for SmolSpawn {
    type Poster = (Arc<Executor<'static>>, Sender<()>);

    fn new() -> Self {
        Self { executor: Arc::default(), over: bounded(1) }
    }

    fn poster(&self) -> Self::Poster {
        (Arc::clone(&self.executor), self.over.0.clone())
    }

    fn post((executor, _): &Self::Poster, task: impl FnOnce() + Send + 'static) {
        executor.spawn(async { task() }).detach();
    }

    fn stop((executor, over): &Self::Poster) {
        let over = over.clone();
        executor.spawn(async move { over.try_send(()).unwrap() }).detach();
    }

    fn run(&mut self) {
        block_on(self.executor.run(self.over.1.recv())).unwrap();
    }
}

/// An executor that is there for as long as the process.
#[derive(Clone, Copy)]
pub struct SmolHere {
    executor: &'static LocalExecutor<'static>,
    over: &'static Sender<()>,
}

impl Here for SmolHere {
    fn run(first: impl FnOnce(&Self) + 'static) {
        let (sender, receiver) = bounded(1);
        let executor: &LocalExecutor = Box::leak(Box::new(LocalExecutor::new()));
        let here = Self { executor, over: Box::leak(Box::new(sender)) };
        here.post(first);
        block_on(executor.run(receiver.recv())).unwrap();
    }

    fn post(&self, task: impl FnOnce(&Self) + 'static) {
        let here = *self;
        self.executor.spawn(async move { task(&here) }).detach();
    }

    fn end(&self) {
        self.over.try_send(()).unwrap();
    }
}

pub struct SmolYield;

impl Chains for SmolYield {
    fn run(mut link: Link) {
        let executor = LocalExecutor::new();
        let task = executor.spawn(async move {
            while let Some(next) = link.next() {
                link = next;
                yield_now().await;
            }
        });
        block_on(executor.run(task));
    }
}

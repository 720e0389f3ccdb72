//! smol: a handler is a task of a local executor.

use futures_channel::oneshot;
use futures_util::future::try_join_all;
use smol::future::block_on;
use smol::{LocalExecutor, Task, unblock};

use super::{Offload, Promises, Step};

pub struct Smol {
    executor: LocalExecutor<'static>,
}

impl Smol {
    /// Polls all tasks that can go on, until none can.
    fn poll_all(&self) {
        while self.executor.try_tick() {}
    }
}

impl Promises for Smol {
    type Chain = (oneshot::Sender<u64>, Task<()>);
    type Resolver = oneshot::Sender<u64>;

    fn new() -> Self {
        Self { executor: LocalExecutor::new() }
    }

    fn single(&mut self, count: usize, step: Step) {
        for number in 0..count as u64 {
            let (sender, receiver) = oneshot::channel();
            self.executor.spawn(async move { step.end(receiver.await.unwrap()) }).detach();
            sender.send(number).unwrap();
        }
        self.poll_all();
    }

    /// A task is a future of its result: a link needs no channel.
    fn build(&mut self, links: usize, step: Step) -> Self::Chain {
        let (sender, first) = oneshot::channel::<u64>();
        let mut last = self.executor.spawn(async move { step.apply(first.await.unwrap()) });
        for _ in 2..links {
            last = self.executor.spawn(async move { step.apply(last.await) });
        }
        let last = self.executor.spawn(async move { step.end(last.await) });
        self.poll_all();
        (sender, last)
    }

    fn settle(&mut self, (sender, last): Self::Chain) {
        sender.send(0).unwrap();
        self.poll_all();
        assert!(last.is_finished());
    }

    fn pend(&mut self, count: usize, step: Step, resolvers: &mut Vec<Self::Resolver>) {
        for _ in 0..count {
            let (sender, receiver) = oneshot::channel();
            self.executor.spawn(async move { step.end(receiver.await.unwrap()) }).detach();
            resolvers.push(sender);
        }
        self.poll_all();
    }

    fn resolve(&mut self, resolvers: &mut Vec<Self::Resolver>) {
        for (number, sender) in resolvers.drain(..).enumerate() {
            sender.send(number as u64).unwrap();
        }
        self.poll_all();
    }

    fn all(&mut self, groups: usize, inputs: usize, step: Step) {
        for _ in 0..groups {
            let (senders, receivers): (Vec<_>, Vec<_>) =
                (0..inputs).map(|_| oneshot::channel()).unzip();
            let all = async move {
                step.end(try_join_all(receivers).await.unwrap().iter().sum());
            };
            self.executor.spawn(all).detach();
            for (number, sender) in senders.into_iter().enumerate() {
                sender.send(number as u64).unwrap();
            }
        }
        self.poll_all();
    }
}

impl Offload for Smol {
    fn new() -> Self {
        Promises::new()
    }

    fn round_trips(&mut self, jobs: usize, in_flight: usize, step: Step) {
        let job = || async move {
            while let Some(number) = step.tally().next(jobs) {
                step.end(unblock(move || step.job(number)).await);
            }
        };
        let tasks: Vec<_> = (0..in_flight).map(|_| self.executor.spawn(job())).collect();
        block_on(self.executor.run(async {
            for task in tasks {
                task.await;
            }
        }));
    }
}

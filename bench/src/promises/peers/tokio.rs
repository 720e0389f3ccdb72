//! tokio, on one thread: a handler is a task in a local set.

use futures_util::future::try_join_all;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, LocalSet, spawn_blocking, spawn_local, unconstrained};

use super::{Offload, Promises, Step, THREADS};

/// Whether its threads for blocking work are as many as those of the others, or as many as it likes.
pub struct Runs<const LIMITED: bool> {
    local: LocalSet,
    runtime: Runtime,
}

pub type Tokio = Runs<true>;
pub type TokioDefault = Runs<false>;

impl<const LIMITED: bool> Runs<LIMITED> {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.local.block_on(&self.runtime, future)
    }
}

/// Tasks are run in the order in which they were made ready: when a new one has ended, the ones before
/// it have been polled.
async fn polled_once() {
    spawn_local(async {}).await.unwrap();
}

impl<const LIMITED: bool> Promises for Runs<LIMITED> {
    type Chain = (oneshot::Sender<u64>, JoinHandle<()>);
    type Resolver = oneshot::Sender<u64>;

    fn new() -> Self {
        let mut builder = Builder::new_current_thread();
        if LIMITED {
            builder.max_blocking_threads(THREADS);
        }
        Self { local: LocalSet::new(), runtime: builder.build().unwrap() }
    }

    fn single(&mut self, count: usize, step: Step) {
        self.block_on(async {
            for number in 0..count as u64 {
                let (sender, receiver) = oneshot::channel();
                spawn_local(async move { step.end(receiver.await.unwrap()) });
                sender.send(number).unwrap();
            }
            polled_once().await;
        });
    }

    /// The handle of a task is a future of its result: a link needs no channel.
    fn build(&mut self, links: usize, step: Step) -> Self::Chain {
        self.block_on(async {
            let (sender, first) = oneshot::channel::<u64>();
            let mut last = spawn_local(async move { step.apply(first.await.unwrap()) });
            for _ in 2..links {
                last = spawn_local(async move { step.apply(last.await.unwrap()) });
            }
            let last = spawn_local(async move { step.end(last.await.unwrap()) });
            polled_once().await;
            (sender, last)
        })
    }

    fn settle(&mut self, (sender, last): Self::Chain) {
        self.block_on(async {
            sender.send(0).unwrap();
            last.await.unwrap();
        });
    }

    fn pend(&mut self, count: usize, step: Step, resolvers: &mut Vec<Self::Resolver>) {
        self.block_on(async {
            for _ in 0..count {
                let (sender, receiver) = oneshot::channel();
                spawn_local(async move { step.end(receiver.await.unwrap()) });
                resolvers.push(sender);
            }
            polled_once().await;
        });
    }

    fn resolve(&mut self, resolvers: &mut Vec<Self::Resolver>) {
        self.block_on(async {
            for (number, sender) in resolvers.drain(..).enumerate() {
                sender.send(number as u64).unwrap();
            }
            polled_once().await;
        });
    }

    fn all(&mut self, groups: usize, inputs: usize, step: Step) {
        self.block_on(async {
            let mut tasks = Vec::with_capacity(groups);
            for _ in 0..groups {
                let (senders, receivers): (Vec<_>, Vec<_>) =
                    (0..inputs).map(|_| oneshot::channel()).unzip();
                // With tokio's budget it would look at 128 of them at a time, and of 10,000 it would be
                // ten times as slow.
                let all = unconstrained(try_join_all(receivers));
                tasks.push(spawn_local(async move { step.end(all.await.unwrap().iter().sum()) }));
                for (number, sender) in senders.into_iter().enumerate() {
                    sender.send(number as u64).unwrap();
                }
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}

impl<const LIMITED: bool> Offload for Runs<LIMITED> {
    fn new() -> Self {
        Promises::new()
    }

    fn round_trips(&mut self, jobs: usize, in_flight: usize, step: Step) {
        self.block_on(async {
            let tasks: Vec<_> = (0..in_flight)
                .map(|_| {
                    spawn_local(async move {
                        while let Some(number) = step.tally().next(jobs) {
                            step.end(spawn_blocking(move || step.job(number)).await.unwrap());
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}

//! tokio, on one thread. A current-thread runtime has two ways to be given closures by other threads: a channel to
//! a task of its local set, and tasks that are spawned.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{LocalSet, spawn_local, yield_now};

use super::{Chains, Here, Loop, Message, boxed};
use crate::tasks::tally::Link;

/// Ready to sleep, and to wait for descriptors.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

pub struct Tokio {
    runtime: Runtime,
    sender: UnboundedSender<Message>,
    receiver: Option<UnboundedReceiver<Message>>,
}

impl Loop for Tokio {
    type Poster = UnboundedSender<Message>;

    fn new() -> Self {
        let (sender, receiver) = unbounded_channel();
        Self { runtime: runtime(), sender, receiver: Some(receiver) }
    }

    fn poster(&self) -> Self::Poster {
        self.sender.clone()
    }

    fn post(sender: &Self::Poster, task: impl FnOnce() + Send + 'static) {
        assert!(sender.send(boxed(task)).is_ok());
    }

    fn stop(sender: &Self::Poster) {
        assert!(sender.send(None).is_ok());
    }

    fn run(&mut self) {
        let mut receiver = self.receiver.take().expect("is run once");
        let local = LocalSet::new();
        local.spawn_local(async move {
            while let Some(Some(task)) = receiver.recv().await {
                task();
            }
        });
        self.runtime.block_on(local);
    }
}

/// A task for each closure. The runtime's own tasks may be sent by any thread; those of a local set may not.
pub struct TokioSpawn {
    runtime: Runtime,
    over: Arc<Notify>,
}

impl Loop for TokioSpawn {
    type Poster = (Handle, Arc<Notify>);

    fn new() -> Self {
        Self { runtime: runtime(), over: Arc::default() }
    }

    fn poster(&self) -> Self::Poster {
        (self.runtime.handle().clone(), Arc::clone(&self.over))
    }

    fn post((handle, _): &Self::Poster, task: impl FnOnce() + Send + 'static) {
        handle.spawn(async { task() });
    }

    fn stop((handle, over): &Self::Poster) {
        let over = Arc::clone(over);
        handle.spawn(async move { over.notify_one() });
    }

    fn run(&mut self) {
        self.runtime.block_on(self.over.notified());
    }
}

/// A thread knows where it is.
pub struct TokioHere;

impl Here for TokioHere {
    fn run(first: impl FnOnce(&Self) + 'static) {
        let local = LocalSet::new();
        local.spawn_local(async { first(&Self) });
        runtime().block_on(local);
    }

    fn post(&self, task: impl FnOnce(&Self) + 'static) {
        spawn_local(async { task(&Self) });
    }
}

/// Runs a task in a local set.
fn run(task: impl Future<Output = ()> + 'static) {
    let local = LocalSet::new();
    local.spawn_local(task);
    runtime().block_on(local);
}

pub struct TokioYield;

impl Chains for TokioYield {
    fn run(mut link: Link) {
        run(async move {
            while let Some(next) = link.next() {
                link = next;
                yield_now().await;
            }
        });
    }
}

/// The runtime need not look at its descriptors before the task goes on.
pub struct TokioSelfWake;

impl Chains for TokioSelfWake {
    fn run(mut link: Link) {
        run(poll_fn(move |context| {
            let Some(next) = link.next() else { return Poll::Ready(()) };
            link = next;
            context.waker().wake_by_ref();
            Poll::Pending
        }));
    }
}

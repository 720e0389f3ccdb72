//! tokio, on one thread: a task per timer, or a future per timer that something else polls.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, LocalSet, spawn_local, yield_now};
use tokio::time::{sleep, sleep_until};

use super::{Capture, Fires, Peer, Tally, idle_capture};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// A task that sleeps, in a local set.
pub struct TokioTask {
    local: LocalSet,
    runtime: Runtime,
}

impl Peer for TokioTask {
    type Id = JoinHandle<()>;

    fn new() -> Self {
        Self { local: LocalSet::new(), runtime: runtime() }
    }

    fn fill(&mut self, delays: &[Duration], tally: &Rc<Tally>, ids: &mut Vec<Self::Id>) {
        self.local.block_on(&self.runtime, async {
            for &delay in delays {
                let capture = idle_capture(tally);
                ids.push(spawn_local(async move {
                    sleep(delay).await;
                    capture.fire();
                }));
            }
            polled_once().await;
        });
    }

    fn drain(&mut self, ids: &mut Vec<Self::Id>) {
        self.local.block_on(&self.runtime, async {
            for task in ids.drain(..) {
                task.abort();
            }
            polled_once().await;
        });
    }
}

/// Tasks are run in the order in which they were made ready: when a new one has ended, the ones before
/// it have been polled, and have set their timers, or have been dropped.
async fn polled_once() {
    spawn_local(async {}).await.unwrap();
}

impl Fires for TokioTask {
    fn fill_until(&mut self, deadlines: &[Instant], tally: &Rc<Tally>) {
        self.local.block_on(&self.runtime, async {
            for &deadline in deadlines {
                let capture = Capture::new(deadline, tally);
                spawn_local(async move {
                    sleep_until(deadline.into()).await;
                    capture.fire();
                });
            }
            polled_once().await;
        });
    }

    fn run(&mut self, _: &Tally) {
        self.runtime.block_on(&mut self.local);
    }

    fn chain(&mut self, delay: Duration, tally: &Rc<Tally>) {
        self.local.block_on(&self.runtime, async {
            while !tally.done() {
                let capture = Capture::from_now(delay, tally);
                sleep(delay).await;
                capture.fire();
            }
        });
    }
}

/// A boxed future, polled once so that it sets its timer. It is polled outside of a task, where no budget
/// keeps it from doing so.
pub struct TokioFuture {
    runtime: Runtime,
}

impl Peer for TokioFuture {
    type Id = Pin<Box<dyn Future<Output = ()>>>;

    fn new() -> Self {
        Self { runtime: runtime() }
    }

    fn fill(&mut self, delays: &[Duration], tally: &Rc<Tally>, ids: &mut Vec<Self::Id>) {
        let _entered = self.runtime.enter();
        let mut context = Context::from_waker(Waker::noop());
        for &delay in delays {
            let capture = idle_capture(tally);
            let mut future: Self::Id = Box::pin(async move {
                sleep(delay).await;
                capture.fire();
            });
            assert!(future.as_mut().poll(&mut context).is_pending());
            ids.push(future);
        }
    }

    fn drain(&mut self, ids: &mut Vec<Self::Id>) {
        ids.clear();
        self.runtime.block_on(yield_now());
    }
}

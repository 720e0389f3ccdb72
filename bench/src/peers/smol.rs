//! smol: a task for each timer, in an executor of this thread. The timers are in the one reactor of the
//! process.

use std::rc::Rc;
use std::time::{Duration, Instant};

use smol::{LocalExecutor, Task, Timer, block_on};

use super::{Capture, Fires, Peer, Tally, idle_capture};

pub struct Smol {
    executor: LocalExecutor<'static>,
}

impl Smol {
    /// Tasks are run in the order in which they were made ready: when a new one has ended, the ones before
    /// it have been polled, and have set their timers, or have been dropped.
    fn polled_once(&self) {
        block_on(self.executor.run(self.executor.spawn(async {})));
    }
}

impl Peer for Smol {
    type Id = Task<()>;

    fn new() -> Self {
        Self { executor: LocalExecutor::new() }
    }

    fn fill(&mut self, delays: &[Duration], tally: &Rc<Tally>, ids: &mut Vec<Self::Id>) {
        for &delay in delays {
            let capture = idle_capture(tally);
            ids.push(self.executor.spawn(async move {
                Timer::after(delay).await;
                capture.fire();
            }));
        }
        self.polled_once();
    }

    fn drain(&mut self, ids: &mut Vec<Self::Id>) {
        // A task that is dropped is cancelled.
        ids.clear();
        self.polled_once();
    }
}

impl Fires for Smol {
    const NEVER_EARLY: bool = true;

    fn fill_until(&mut self, deadlines: &[Instant], tally: &Rc<Tally>) {
        for &deadline in deadlines {
            let capture = Capture::new(deadline, tally);
            let task = self.executor.spawn(async move {
                Timer::at(deadline).await;
                capture.fire();
            });
            task.detach();
        }
        self.polled_once();
    }

    fn run(&mut self, tally: &Tally) {
        block_on(async {
            while !tally.done() {
                // Without waiting as long as there is something to run, which is cheaper.
                if !self.executor.try_tick() {
                    self.executor.tick().await;
                }
            }
        });
    }

    fn chain(&mut self, delay: Duration, tally: &Rc<Tally>) {
        let tally = Rc::clone(tally);
        block_on(self.executor.run(self.executor.spawn(async move {
            while !tally.done() {
                let capture = Capture::from_now(delay, &tally);
                Timer::after(delay).await;
                capture.fire();
            }
        })));
    }
}

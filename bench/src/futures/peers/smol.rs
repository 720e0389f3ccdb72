//! smol: an executor for one thread, which waits with smol's reactor.

use std::rc::Rc;
use std::time::Instant;

use smol::future::yield_now;
use smol::{LocalExecutor, Timer, block_on};

use super::{Executor, Sleeps, Yields};

pub struct Smol {
    executor: Rc<LocalExecutor<'static>>,
}

impl Executor for Smol {
    type Spawner = Rc<LocalExecutor<'static>>;

    fn new() -> Self {
        Self { executor: Rc::new(LocalExecutor::new()) }
    }

    fn run<F>(self, work: impl FnOnce(Self::Spawner) -> F) -> F::Output
    where
        F: Future + 'static,
    {
        let task = self.executor.spawn(work(Rc::clone(&self.executor)));
        block_on(self.executor.run(task))
    }

    fn spawn<F>(spawner: &Self::Spawner, future: F) -> impl Future<Output = F::Output> + use<F>
    where
        F: Future + 'static,
    {
        spawner.spawn(future)
    }
}

impl Yields for Smol {
    async fn yield_now(_: &Self::Spawner) {
        yield_now().await;
    }
}

impl Sleeps for Smol {
    fn sleep_until(
        _: &Self::Spawner,
        deadline: Instant,
    ) -> impl Future<Output = ()> + 'static + use<> {
        let timer = Timer::at(deadline);
        async move { _ = timer.await }
    }
}

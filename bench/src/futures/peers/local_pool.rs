//! The executor of `futures`: it parks its thread, and has neither timers nor descriptors.

use futures_executor::{LocalPool as Pool, LocalSpawner};
use futures_util::task::LocalSpawnExt;

use super::Executor;

pub struct LocalPool {
    pool: Pool,
}

impl Executor for LocalPool {
    type Spawner = LocalSpawner;

    fn new() -> Self {
        Self { pool: Pool::new() }
    }

    fn run<F>(mut self, work: impl FnOnce(Self::Spawner) -> F) -> F::Output
    where
        F: Future + 'static,
    {
        let spawner = self.pool.spawner();
        self.pool.run_until(Self::spawn(&spawner, work(spawner.clone())))
    }

    fn spawn<F>(spawner: &Self::Spawner, future: F) -> impl Future<Output = F::Output> + use<F>
    where
        F: Future + 'static,
    {
        spawner.spawn_local_with_handle(future).unwrap()
    }
}

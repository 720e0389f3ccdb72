//! One module for each peer, and what they implement.

mod local_pool;
mod mainspring;
mod smol;
mod tokio;

use std::time::Instant;

pub use self::local_pool::LocalPool;
pub use self::mainspring::{Mainspring, MainspringPolling};
pub use self::smol::Smol;
pub use self::tokio::{TokioLocal, TokioSet};

/// Runs futures on this thread. If it can do more than that, it is ready to: to sleep, and to wait for
/// descriptors.
pub trait Executor {
    /// What a future spawns another with.
    type Spawner: Clone + 'static;

    fn new() -> Self;

    /// Spawns a future, and runs until it has a result.
    fn run<F>(self, work: impl FnOnce(Self::Spawner) -> F) -> F::Output
    where
        F: Future + 'static;

    /// The result is a future, of the result of the other one.
    fn spawn<F>(
        spawner: &Self::Spawner,
        future: F,
    ) -> impl Future<Output = F::Output> + use<Self, F>
    where
        F: Future + 'static;
}

pub trait Yields: Executor {
    /// Lets others run, once.
    fn yield_now(spawner: &Self::Spawner) -> impl Future<Output = ()>;
}

pub trait Sleeps: Executor {
    fn sleep_until(
        spawner: &Self::Spawner,
        deadline: Instant,
    ) -> impl Future<Output = ()> + 'static + use<Self>;
}

//! tokio, on one thread: a local set in a current-thread runtime, or a runtime that is local itself.

use std::time::Instant;

use tokio::runtime::{Builder, LocalOptions, LocalRuntime, Runtime};
use tokio::task::{LocalSet, spawn_local, yield_now};
use tokio::time::sleep_until;

use super::{Executor, Sleeps, Yields};

fn builder() -> Builder {
    let mut builder = Builder::new_current_thread();
    builder.enable_all();
    builder
}

pub struct TokioSet {
    local: LocalSet,
    runtime: Runtime,
}

pub struct TokioLocal {
    runtime: LocalRuntime,
}

/// They differ in how they are made, and how they are run.
macro_rules! peer {
    ($peer:ident, $new:expr, $block_on:expr) => {
        impl Executor for $peer {
            /// A thread knows where it is.
            type Spawner = ();

            fn new() -> Self {
                $new
            }

            fn run<F>(self, work: impl FnOnce(Self::Spawner) -> F) -> F::Output
            where
                F: Future + 'static,
            {
                let work = work(());
                $block_on(&self, async { spawn_local(work).await.unwrap() })
            }

            fn spawn<F>((): &Self::Spawner, future: F) -> impl Future<Output = F::Output> + use<F>
            where
                F: Future + 'static,
            {
                let task = spawn_local(future);
                async { task.await.unwrap() }
            }
        }

        impl Yields for $peer {
            async fn yield_now((): &Self::Spawner) {
                yield_now().await;
            }
        }

        impl Sleeps for $peer {
            fn sleep_until(
                (): &Self::Spawner,
                deadline: Instant,
            ) -> impl Future<Output = ()> + 'static + use<> {
                sleep_until(deadline.into())
            }
        }
    };
}

peer!(
    TokioSet,
    Self { local: LocalSet::new(), runtime: builder().build().unwrap() },
    |peer: &Self, future| peer.local.block_on(&peer.runtime, future)
);
peer!(
    TokioLocal,
    Self { runtime: builder().build_local(LocalOptions::default()).unwrap() },
    |peer: &Self, future| peer.runtime.block_on(future)
);

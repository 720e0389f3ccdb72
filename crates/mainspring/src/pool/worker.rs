//! What a worker's thread does, from its start to its end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::Work;
use super::crew::{Bed, Crew, Next};
use crate::fault::{drop_isolated, log_isolated};
use crate::spin::Spin;
use crate::sync::{Condvar, Ordering};

/// Somebody wants a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// How many jobs had been taken at that time.
    pub(super) taken: usize,
}

/// Runs jobs until there is no need for it any more. Counted as awake, and as a thread, by whoever started
/// it.
pub(super) fn work<J: Work>(crew: &Arc<Crew<J>>, call: Call) {
    let bed: Bed = Arc::new(Condvar::new());
    let spin = Spin::new(crew.max_spin);
    let mut next = Next::Answer(call);
    loop {
        next = match next {
            Next::Answer(call) => crew.answer(&bed, call),
            Next::Search => {
                search(crew, &spin);
                crew.lie_down(&bed)
            }
            Next::Sleep => crew.sleep(&bed),
            Next::Leave => return,
        };
    }
}

/// Runs jobs until none is left, and none comes for a while.
fn search<J: Work>(crew: &Arc<Crew<J>>, spin: &Spin) {
    loop {
        while let Some(job) = crew.queue.take() {
            crew.begin_job();
            run(job);
            crew.end_job();
        }
        if crew.spinning.swap(true, Ordering::Relaxed) {
            return;
        }
        let found = spin.wait(None, || !crew.queue.is_empty());
        crew.spinning.store(false, Ordering::Relaxed);
        if !found {
            return;
        }
    }
}

/// Jobs catch the panics of the user's code. Should one get here, the worker goes on all the same.
fn run<J: Work>(job: J) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| job.run())) {
        drop_isolated(payload);
        log_isolated(|| tracing::error!("a job of the worker pool panicked"));
    }
}

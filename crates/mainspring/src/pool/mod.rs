//! Threads for what blocks.
//!
//! A pool belongs to one loop. It has no thread until there is a job, and then as many as its jobs need, up
//! to a bound; they leave when they had nothing to do for a while.
//!
//! # Guarantees
//!
//! 1. Jobs are started in the order in which they were queued.
//! 2. A job that is queued is started if a worker is free, or below the bound: no job that is running
//!    keeps it waiting, however long that takes. What waits behind jobs that turn out to block is noticed
//!    within a fraction of a millisecond.
//! 3. A job is run once, or dropped, or handed back; never more than one of these, and never none.
//! 4. No job that panics ends a worker.
//! 5. Closing does not wait, waiting ends at its deadline, and a worker that is stuck in a job keeps what
//!    it needs alive by itself: it leaves when the job ends, if ever.
//!
//! Not guaranteed: that jobs run side by side as long as they are quicker than it takes to wake a thread.
//! Nor is a thread that has left the pool joined: destructors of its thread-local values are code of
//! the user, and may block.
//!
//! # Why not the `blocking` crate
//!
//! That is one pool for the process, which cannot be ended nor waited for; and it starts a thread for each few
//! jobs that wait, however quick they are. `bench/run promises` has it beside this one, as smol's.
//!
//! # Cost
//!
//! The pool allocates nothing for a job: it is stored as it is, in chunks that are used again. What a job
//! is, is up to its type; an `Arc` of something that exists anyway will do. To queue one takes a lock, and
//! a system call only if nobody is awake to run it.

mod crew;
mod queue;
#[cfg(all(test, not(loom)))]
mod tests;
mod worker;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::crew::{Crew, Obstacle};
use crate::fault::drop_isolated;

/// Something to do on a worker's thread. One that is dropped instead must tell whoever waits for it.
pub(crate) trait Work: Send + 'static {
    fn run(self);
}

impl Work for Box<dyn FnOnce() + Send> {
    fn run(self) {
        self();
    }
}

/// A job that was not accepted.
pub(crate) struct Refused<J> {
    pub(crate) job: J,
    pub(crate) reason: Reason,
}

/// Why a job was not accepted.
#[derive(Debug)]
pub(crate) enum Reason {
    /// The pool was shut down.
    Closed,
    /// There is no worker, and the system did not let one start.
    NoThread(io::Error),
}

impl<J> fmt::Debug for Refused<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("reason", &self.reason).finish_non_exhaustive()
    }
}

/// See the [module documentation](self).
pub(crate) struct Pool<J: Work>(Arc<Crew<J>>);

impl<J: Work> Pool<J> {
    /// A pool of up to `max` workers, and of one at least. They leave after `keep_alive` without a job, and
    /// look for one for up to `max_spin` before they sleep.
    pub(crate) fn new(max: usize, keep_alive: Duration, max_spin: Duration) -> Self {
        Self(Arc::new(Crew::new(max, keep_alive, max_spin)))
    }

    /// Queues a job.
    pub(crate) fn execute(&self, job: J) -> Result<(), Refused<J>> {
        self.0.push(job).map_err(|(obstacle, job)| {
            let reason = match obstacle {
                Obstacle::Closed => Reason::Closed,
                Obstacle::NoThread(error) => Reason::NoThread(error),
            };
            Refused { job, reason }
        })
    }

    /// Accepts no more jobs, drops those that were not started, and lets the workers leave. Returns how
    /// many were dropped. Does not wait.
    pub(crate) fn shutdown(&self) -> usize {
        self.0.close().map(drop_isolated).count()
    }

    /// After a shutdown, waits until all workers have left or the deadline has passed; none is never.
    /// Returns how many jobs are running still; at a deadline, one that is just being started may be
    /// missing from that. Not for a job of this pool, which would wait for itself.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> usize {
        self.0.wait(deadline)
    }
}

impl<J: Work> Drop for Pool<J> {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl<J: Work> fmt::Debug for Pool<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}

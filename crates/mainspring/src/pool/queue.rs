//! The queue of a pool: first in, first out, for any number of threads.
//!
//! ```text
//! push ─▶ [ back ] ──all at once, when the front is empty──▶ [ front ] ─▶ take
//! ```
//!
//! Each end has a lock of its own. Whoever takes meets those who push once for all that they have pushed
//! meanwhile, not once for each job. Nothing is ever set aside for one worker: what was moved to the front
//! is there for all of them, so no job waits behind another one that blocks.
//!
//! # Counters
//!
//! | word     | counts                          | written                  |
//! |----------|---------------------------------|--------------------------|
//! | `pushed` | jobs that were ever pushed      | under the lock of the back  |
//! | `taken`  | jobs that have left, any way    | under the lock of the front |
//!
//! Both wrap. Read without a lock, they are a hint: what orders such a look is up to whoever looks.
//!
//! # The gate
//!
//! | gate       | a job that is pushed | becomes                                                        |
//! |------------|----------------------|----------------------------------------------------------------|
//! | `Unmanned` | is handed back       | `Open` when there is a worker, `Closed`                        |
//! | `Open`     | is queued            | `Unmanned` when the last worker leaves an empty queue, `Closed` |
//! | `Closed`   | is handed back       |                                                                |
//!
//! So a job is queued only if there is a worker that will look for it. Locks are taken in the order
//! front, back.

use crossbeam_utils::CachePadded;

use crate::chunk::ChunkQueue;
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};

/// Whether jobs are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    Unmanned,
    Open,
    Closed,
}

struct Back<J> {
    jobs: ChunkQueue<J>,
    gate: Gate,
}

/// See the [module documentation](self).
pub(super) struct Queue<J> {
    back: CachePadded<(Mutex<Back<J>>, AtomicUsize)>,
    front: CachePadded<(Mutex<ChunkQueue<J>>, AtomicUsize)>,
}

/// How many jobs were pushed and taken, at about the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) pushed: usize,
    pub(super) taken: usize,
}

impl Counts {
    pub(super) fn is_empty(self) -> bool {
        self.pushed == self.taken
    }

    /// Whether not all of the first `mark` jobs were taken.
    pub(super) fn is_behind(self, mark: usize) -> bool {
        mark.wrapping_sub(self.taken).cast_signed() > 0
    }
}

impl<J> Queue<J> {
    /// Unmanned.
    pub(super) fn new() -> Self {
        let back = Back { jobs: ChunkQueue::new(), gate: Gate::Unmanned };
        Self {
            back: CachePadded::new((Mutex::new(back), AtomicUsize::new(0))),
            front: CachePadded::new((Mutex::new(ChunkQueue::new()), AtomicUsize::new(0))),
        }
    }

    pub(super) fn push(&self, job: J) -> Result<(), (Gate, J)> {
        let (back, pushed) = &*self.back;
        let back = lock(back);
        if back.gate != Gate::Open {
            return Err((back.gate, job));
        }
        back.jobs.push(job);
        pushed.store(pushed.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        Ok(())
    }

    /// The oldest job. None if none was seen, which is certain only for jobs whose push came before.
    pub(super) fn take(&self) -> Option<J> {
        if self.counts().is_empty() {
            return None;
        }
        let (front, taken) = &*self.front;
        let front = lock(front);
        let job = front.pop().or_else(|| {
            front.swap(&lock(&self.back.0).jobs);
            front.pop()
        })?;
        taken.store(taken.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        Some(job)
    }

    pub(super) fn counts(&self) -> Counts {
        let taken = self.front.1.load(Ordering::Relaxed);
        Counts { pushed: self.back.1.load(Ordering::Relaxed), taken }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts().is_empty()
    }

    /// From now on there is a worker.
    pub(super) fn man(&self) {
        lock(&self.back.0).gate = Gate::Open;
    }

    /// From now on there is none, unless a job is queued: then this returns false, and there is one. For
    /// the only worker.
    pub(super) fn unman(&self) -> bool {
        let mut back = lock(&self.back.0);
        // The only worker is the only one who takes, and nobody pushes now: the counts are exact.
        if self.is_empty() {
            back.gate = Gate::Unmanned;
        }
        back.gate == Gate::Unmanned
    }

    /// Closes the gate for good, and gives out what is queued, oldest first.
    pub(super) fn close(&self) -> impl Iterator<Item = J> + use<J> {
        let (front, taken) = &*self.front;
        let front = lock(front);
        let mut back = lock(&self.back.0);
        back.gate = Gate::Closed;
        taken.store(self.back.1.load(Ordering::Relaxed), Ordering::Relaxed);
        let left = (ChunkQueue::new(), ChunkQueue::new());
        left.0.swap(&front);
        left.1.swap(&back.jobs);
        std::iter::from_fn(move || left.0.pop().or_else(|| left.1.pop()))
    }
}

//! The loop's worker pool, and the end of the loop's waiting for it.

use std::sync::OnceLock;
use std::time::Duration;

use crate::builder::Config;
use crate::clock;
use crate::pool::{Pool, Refused};
use crate::promise::Errand;
use crate::shared::Shared;
use crate::state::LoopState;
use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering, fence, lock, wait};

/// How long the loop waits for workers that have nothing to do to leave.
const FAREWELL: Duration = Duration::from_secs(1);

/// The pool is made for the first errand.
pub(crate) struct Workers {
    pool: OnceLock<Pool<Errand>>,
    max: usize,
    keep_alive: Duration,
    max_spin: Duration,
    /// Errands that were accepted and have not come to their end.
    busy: AtomicUsize,
    /// Whether the loop waits for them, at its end.
    waiting: Mutex<bool>,
    changed: Condvar,
}

impl Workers {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            pool: OnceLock::new(),
            max: config.max_workers,
            keep_alive: config.worker_keep_alive,
            max_spin: config.max_spin,
            busy: AtomicUsize::new(0),
            waiting: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    /// Gives an errand to a worker.
    pub(crate) fn execute(&self, shared: &Shared, errand: Errand) -> Result<(), Refused<Errand>> {
        let pool = self.pool.get_or_init(|| Pool::new(self.max, self.keep_alive, self.max_spin));
        pool.execute(errand)?;
        // Partner of the one in `end`: either that sees the pool, or this sees that the loop has ended.
        fence(Ordering::SeqCst);
        if shared.state() == LoopState::Terminated {
            pool.shutdown();
        }
        Ok(())
    }

    /// There is one more errand.
    pub(crate) fn began(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    /// An errand has come to its end, and what it had to deliver is on its way.
    pub(crate) fn ended(&self, shared: &Shared) {
        // Release: the partner is the Acquire in `busy`. What was delivered is seen by a loop that sees that the
        // errand has ended.
        self.busy.fetch_sub(1, Ordering::Release);
        // Partner of the one in `wait`, as for what is queued: either that sees the number, or this sees that
        // the loop may wait.
        fence(Ordering::SeqCst);
        if shared.sleep.state.is_ending() {
            self.wake_waiter();
        }
    }

    /// How many errands are under way.
    pub(crate) fn busy(&self) -> usize {
        self.busy.load(Ordering::Acquire)
    }

    /// Lets a loop that waits at its end look again, after something has changed.
    pub(crate) fn wake_waiter(&self) {
        // Notifying costs a system call, also if nobody waits.
        if *lock(&self.waiting) {
            self.changed.notify_all();
        }
    }

    /// Waits until something has changed, unless `is_over`, or for so long at the most.
    pub(crate) fn wait(
        &self,
        is_over: impl Fn() -> bool,
        timeout: impl FnOnce() -> Option<Duration>,
    ) {
        let mut guard = lock(&self.waiting);
        fence(Ordering::SeqCst);
        if is_over() {
            return;
        }
        *guard = true;
        // Asked under the lock: somebody who shortens the time wakes this after that.
        let mut guard = match timeout() {
            // Time does not pass in a model.
            #[cfg(not(loom))]
            Some(timeout) => crate::sync::wait_timeout(&self.changed, guard, timeout),
            _ => wait(&self.changed, guard),
        };
        *guard = false;
    }

    /// The loop has ended: errands that were not started are dropped, and the workers leave. If none of them is
    /// on an errand, that is waited for.
    pub(crate) fn end(&self, may_wait: bool) {
        let busy = self.busy();
        fence(Ordering::SeqCst);
        let Some(pool) = self.pool.get() else { return };
        pool.shutdown();
        if may_wait && busy == 0 {
            // Not for ever: they may have thread-local values whose destructors block.
            pool.wait(clock::now().checked_add(FAREWELL));
        }
    }
}

//! Timers as other threads reach them.
//!
//! # Setting
//!
//! A thread takes a slot from the pool of those that the loop has put aside, arms its claim, which makes the
//! id, and sends the callback to the loop. When the pool is empty, the thread adds a page of its own to the
//! directory and takes from that; so it never waits for the loop.
//!
//! # Clearing
//!
//! The claim decides (see [`crate::timer::claim`]). The callback itself need not be `Send`, and where the
//! timer waits is known to the loop only; so whoever cleared it asks the loop to drop it.
//!
//! # Order
//!
//! The inbox keeps each thread's order. The loop takes in what was sent before it adds a timer of its own,
//! so that among equal deadlines a timer whose setting had returned comes first. What was sent while another
//! thread was in the middle of sending comes when that has gone on, and not before.

use crate::inbox::{Inbox, Outlet};
use crate::sync::{AtomicBool, AtomicI64, AtomicIsize, Mutex, Ordering, lock};
use crate::task::SendTimerTask;
use crate::timer::claim::Kind;
use crate::timer::id::TimerId;
use crate::timer::page::{Directory, PAGE, Unadded};

/// Slots of the inbox's ring, as a power of two.
const RING_SHIFT: u32 = if cfg!(loom) { 1 } else { 8 };

/// How many slots the loop puts aside for other threads.
pub(crate) const POOL: usize = if cfg!(loom) { 1 } else { 64 };

/// What the loop is asked to do.
pub(crate) enum Command {
    /// Add a timer.
    Insert { index: u32, deadline: i64, task: SendTimerTask },
    /// Drop a timer that was cleared.
    Drop(TimerId),
}

/// See the [module documentation](self).
pub(crate) struct Remote {
    pub(crate) directory: Directory,
    pub(crate) inbox: Inbox<Command>,
    pool: Mutex<Vec<u32>>,
    /// Referenced timers that other threads have set, less those that they have cleared. The rest of the
    /// count is the loop's own.
    referenced: AtomicIsize,
    /// The earliest deadline that the loop knows of. The greatest number for none. Written by the loop only.
    next: AtomicI64,
    announced: Mutex<Announced>,
    /// Whether another thread has taken the place of a loop that was never driven. Locked by whoever takes
    /// commands out of the inbox of such a loop.
    pub(crate) is_taken_over: Mutex<bool>,
    /// Whether `announced` has a deadline.
    is_announced: AtomicBool,
}

/// Deadlines that the loop may not have taken into account yet.
struct Announced {
    earliest: i64,
    /// How many there were, ever.
    count: u64,
}

impl Remote {
    pub(crate) fn new() -> Self {
        Self {
            directory: Directory::new(),
            inbox: Inbox::new(usize::MAX, RING_SHIFT, false),
            pool: Mutex::new(Vec::new()),
            referenced: AtomicIsize::new(0),
            next: AtomicI64::new(i64::MAX),
            announced: Mutex::new(Announced { earliest: i64::MAX, count: 0 }),
            is_taken_over: Mutex::new(false),
            is_announced: AtomicBool::new(false),
        }
    }

    /// One that has used up its ids after so many pages.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn with_max(pages: u32) -> Self {
        Self { directory: Directory::with_max(pages), ..Self::new() }
    }

    /// Whether the loop has commands to take in. For the loop's thread.
    #[inline]
    pub(crate) fn has_commands(&self) -> bool {
        self.inbox.is_ready() || self.inbox.held() != 0
    }

    /// Takes a free slot.
    fn take(&self) -> Result<u32, Unadded> {
        let mut pool = lock(&self.pool);
        if let Some(index) = pool.pop() {
            return Ok(index);
        }
        let (number, _) = self.directory.add()?;
        let first = number * PAGE;
        pool.extend((first + 1..first + PAGE).rev());
        Ok(first)
    }

    /// How many slots the loop should put aside.
    pub(crate) fn wanted(&self) -> usize {
        POOL.saturating_sub(lock(&self.pool).len())
    }

    /// Puts free slots aside for other threads.
    pub(crate) fn supply(&self, indices: impl IntoIterator<Item = u32>) {
        lock(&self.pool).extend(indices);
    }

    /// Sets a timer, from another thread than the loop's.
    pub(crate) fn set<F>(
        &self,
        deadline: i64,
        kind: Kind,
        callback: F,
        make: impl Fn(F, TimerId) -> SendTimerTask,
    ) -> Result<TimerId, (Unadded, F)> {
        let index = match self.take() {
            Ok(index) => index,
            Err(unadded) => return Err((unadded, callback)),
        };
        let Some(page) = self.directory.get(index / PAGE) else {
            return Err((Unadded::Closed, callback));
        };
        let claim = page.claim(index);
        // Before it can end: a count goes down by it then.
        self.referenced.fetch_add(1, Ordering::Relaxed);
        let id = TimerId::new(index, claim.arm(kind));
        let insert = |callback| Command::Insert { index, deadline, task: make(callback, id) };
        let sent = self.inbox.push(callback, insert, || None, |callback, ()| insert(callback));
        match sent {
            Ok(()) => {
                self.announce(deadline);
                Ok(id)
            }
            Err((_, callback)) => {
                claim.abandon();
                self.referenced.fetch_sub(1, Ordering::Relaxed);
                if !claim.is_exhausted() {
                    self.supply([index]);
                }
                Err((Unadded::Closed, callback))
            }
        }
    }

    /// Clears a timer, from another thread than the loop's. Tells whether that kept it from firing.
    pub(crate) fn clear(&self, id: TimerId) -> bool {
        let claimed = self.directory.with_claim(id, |claim| claim.clear_remotely(id.generation()));
        let Some(taken) = claimed.flatten() else { return false };
        if taken.referenced {
            // Release: the partner is the Acquire in `referenced`. What was done before the last timer was
            // cleared is seen by a loop that sees that it is gone.
            self.referenced.fetch_sub(1, Ordering::Release);
        }
        if !taken.running {
            // If that is refused, the loop is at its end, and drops all timers.
            let _ = self.inbox.push(id, Command::Drop, || None, |id, ()| Command::Drop(id));
        }
        true
    }

    /// References a timer or not, from another thread than the loop's. None if there is no such timer.
    pub(crate) fn refer(&self, id: TimerId, referenced: bool) -> Option<()> {
        if referenced {
            // Before it is known: the loop must not find nothing to wait for in between.
            self.referenced.fetch_add(1, Ordering::Release);
        }
        let claimed =
            self.directory.with_claim(id, |claim| claim.refer(id.generation(), referenced));
        let is_changed = claimed.flatten();
        if is_changed.unwrap_or(false) != referenced {
            self.referenced.fetch_sub(1, Ordering::Release);
        }
        is_changed.map(|_| ())
    }

    /// The other threads' part of the count of referenced timers.
    #[inline]
    pub(crate) fn referenced(&self) -> isize {
        self.referenced.load(Ordering::Acquire)
    }

    /// Says that a timer was sent.
    fn announce(&self, deadline: i64) {
        let mut announced = lock(&self.announced);
        announced.earliest = announced.earliest.min(deadline);
        announced.count += 1;
        self.is_announced.store(true, Ordering::Relaxed);
    }

    /// How many deadlines were announced, if any. For the loop's thread, before it takes in what was sent.
    #[inline]
    pub(crate) fn announced(&self) -> Option<u64> {
        let is_announced = self.is_announced.load(Ordering::Relaxed);
        is_announced.then(|| lock(&self.announced).count)
    }

    /// Says that a timer was added. For the loop's thread.
    #[inline]
    pub(crate) fn lower_next(&self, deadline: i64) {
        if deadline < self.next.load(Ordering::Relaxed) {
            self.next.store(deadline, Ordering::Relaxed);
        }
    }

    /// Says what the earliest deadline is, with those timers taken in that had been announced when
    /// `announced` was asked. For the loop's thread.
    #[inline]
    pub(crate) fn publish_next(&self, next: Option<i64>, announced: Option<u64>) {
        self.next.store(next.unwrap_or(i64::MAX), Ordering::Relaxed);
        if let Some(count) = announced {
            let mut announced = lock(&self.announced);
            if announced.count == count {
                announced.earliest = i64::MAX;
                self.is_announced.store(false, Ordering::Relaxed);
            }
        }
    }

    /// The earliest deadline, as far as it is known outside of the loop's thread.
    pub(crate) fn next(&self) -> Option<i64> {
        // In this order: one that is not announced any more has been published.
        let announced = lock(&self.announced).earliest;
        let next = self.next.load(Ordering::Relaxed).min(announced);
        (next != i64::MAX).then_some(next)
    }

    /// Takes the place of a loop that was never driven, at its end. The inbox is closed. Returns what had
    /// been sent, to be dropped.
    pub(crate) fn end_undriven(&self) -> Vec<SendTimerTask> {
        let mut sent = Vec::new();
        let mut is_taken_over = lock(&self.is_taken_over);
        *is_taken_over = true;
        // SAFETY: the loop's thread takes nothing out of the inbox of a loop that it has not driven, except
        // under this lock, and then never again.
        unsafe {
            self.inbox.empty(|command| {
                if let Command::Insert { index, task, .. } = command {
                    if let Some(page) = self.directory.get(index / PAGE) {
                        page.claim(index).abandon();
                    }
                    sent.push(task);
                }
            });
        }
        drop(is_taken_over);
        self.end();
        sent
    }

    /// Gives all memory back, at the end of the loop.
    pub(crate) fn end(&self) {
        self.publish_next(None, self.announced());
        let pool = std::mem::take(&mut *lock(&self.pool));
        drop(pool);
        self.directory.close();
    }
}

/// The loop's end of the inbox.
pub(crate) struct Commands(Outlet<Command>);

impl Commands {
    pub(crate) const fn new() -> Self {
        Self(Outlet::new())
    }

    /// The next command.
    ///
    /// # Safety
    ///
    /// As for [`Outlet::pop_in_place`].
    pub(crate) unsafe fn pop(&self, remote: &Remote) -> Option<Command> {
        // SAFETY: passed on to the caller.
        unsafe { self.0.pop(&remote.inbox) }
    }

    /// What is left, once the inbox is closed.
    ///
    /// # Safety
    ///
    /// As for [`Outlet::pop_in_place`].
    pub(crate) unsafe fn drain(&self, remote: &Remote, sink: impl FnMut(Command)) {
        // SAFETY: passed on to the caller.
        unsafe { remote.inbox.drain(&self.0, sink) };
    }
}

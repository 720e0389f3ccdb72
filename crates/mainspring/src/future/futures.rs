//! The futures of a loop, on its thread.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::task::Waker;

use slab::Slab;

use super::cell::{DONE, Header, LEFT, QUEUED, REFERENCED, TaskPtr};
use super::join::JoinError;
use crate::Cx;
use crate::fault::{drop_isolated, log_isolated};
use crate::local::Local;
use crate::place::Origin;
use crate::task::Run;

/// Room for so many futures is kept when they are gone. A burst does not cost memory for ever.
const KEEP: usize = 1024;

/// All futures that are not done, and the order in which to poll those that were woken.
pub(crate) struct Futures {
    all: RefCell<Slab<TaskPtr>>,
    /// The ready queue: its first and its last one. It is linked through the cells.
    first: Cell<Option<TaskPtr>>,
    last: Cell<Option<TaskPtr>>,
    /// Wakers of futures that let the rest of the loop go first.
    deferred: RefCell<Vec<Waker>>,
    /// How often those were woken.
    round: Cell<u64>,
    /// How many keep the loop alive.
    referenced: Cell<usize>,
}

impl Futures {
    pub(crate) fn new() -> Self {
        Self {
            all: RefCell::default(),
            first: Cell::new(None),
            last: Cell::new(None),
            deferred: RefCell::default(),
            round: Cell::new(0),
            referenced: Cell::new(0),
        }
    }

    /// How many keep the loop alive.
    pub(crate) fn count_referenced(&self) -> usize {
        self.referenced.get()
    }

    /// Whether one of them keeps the loop alive.
    pub(crate) fn is_referenced(&self) -> bool {
        self.referenced.get() != 0
    }

    /// How many are not done.
    #[cfg(feature = "metrics")]
    pub(crate) fn len(&self) -> usize {
        self.all.borrow().len()
    }

    /// Where those come from that keep the loop alive, so many at the most.
    pub(crate) fn list_referenced(&self, limit: usize) -> Vec<Origin> {
        let all = self.all.borrow();
        // SAFETY: what is listed is not freed.
        let headers = all.iter().map(|(_, task)| unsafe { task.header() });
        headers.filter(|header| header.has(REFERENCED)).map(Header::origin).take(limit).collect()
    }

    /// Whether there is one to poll.
    #[inline]
    pub(crate) fn has_woken(&self) -> bool {
        self.first.get().is_some()
    }

    /// Takes a new one in.
    pub(super) fn insert(&self, task: TaskPtr, header: &Header) {
        header.key.set(self.all.borrow_mut().insert(task));
        self.reference(header, true);
    }

    /// It is done.
    pub(super) fn forget(&self, header: &Header) {
        let mut all = self.all.borrow_mut();
        all.try_remove(header.key.get());
        if all.is_empty() && all.capacity() > KEEP {
            *all = Slab::new();
        }
        drop(all);
        self.reference(header, false);
    }

    /// Whether it keeps the loop alive.
    pub(super) fn reference(&self, header: &Header, is_referenced: bool) {
        if header.has(REFERENCED) == is_referenced {
            return;
        }
        let referenced = self.referenced.get();
        if is_referenced {
            header.set(REFERENCED);
            self.referenced.set(referenced + 1);
        } else {
            header.clear(REFERENCED);
            self.referenced.set(referenced - 1);
        }
    }

    fn push(&self, task: TaskPtr, header: &Header) {
        header.set(QUEUED);
        header.next.set(None);
        match self.last.replace(Some(task)) {
            // SAFETY: what is queued is not freed: the loop's reference is kept for that.
            Some(last) => unsafe { last.header() }.next.set(Some(task)),
            None => self.first.set(Some(task)),
        }
    }

    fn pop(&self) -> Option<TaskPtr> {
        let task = self.first.get()?;
        // SAFETY: as in `push`.
        let header = unsafe { task.header() };
        let next = header.next.take();
        self.first.set(next);
        if next.is_none() {
            self.last.set(None);
        }
        header.clear(QUEUED);
        Some(task)
    }
}

impl Local {
    /// Puts a future into the ready queue, unless it is there or done.
    #[inline]
    pub(super) fn wake_future(&self, task: TaskPtr) {
        // SAFETY: whoever wakes it holds a reference.
        let header = unsafe { task.header() };
        if !header.has(QUEUED | DONE) && self.accepts() {
            self.futures.push(task, header);
            self.add_own_queued(1);
        }
    }

    /// Wakes a future when the rest of the loop has had its turn: in another round than this.
    pub(crate) fn defer_future(&self, waker: Waker) -> u64 {
        if self.accepts() {
            self.futures.deferred.borrow_mut().push(waker);
            self.add_own_queued(1);
        }
        self.futures.round.get()
    }

    /// How often those that let the rest of the loop go first were woken.
    pub(super) fn future_round(&self) -> u64 {
        self.futures.round.get()
    }

    /// Wakes those that let the rest of the loop go first.
    #[inline]
    pub(crate) fn wake_deferred(&self) {
        let count = self.futures.deferred.borrow().len();
        if count > 0 {
            self.futures.round.set(self.futures.round.get() + 1);
            self.wake_all_deferred(count);
        }
    }

    fn wake_all_deferred(&self, count: usize) {
        if count == 1 {
            // As usual. It is taken out where it is, which costs half as much.
            let waker = self.futures.deferred.borrow_mut().pop();
            self.sub_own_queued();
            return waker.into_iter().for_each(wake_isolated);
        }
        let mut deferred = self.futures.deferred.take();
        for waker in deferred.drain(..) {
            self.sub_own_queued();
            wake_isolated(waker);
        }
        // The memory is used again, unless something was deferred meanwhile.
        let mut place = self.futures.deferred.borrow_mut();
        if place.is_empty() && deferred.capacity() <= KEEP {
            *place = deferred;
        }
    }

    /// The next future to poll.
    pub(crate) fn next_future(&self) -> Option<Woken> {
        loop {
            let task = self.futures.pop()?;
            self.sub_own_queued();
            // SAFETY: as in `push`.
            if !unsafe { task.header() }.has(DONE) {
                return Some(Woken(task));
            }
            // Otherwise its end is on the stack, and gives the reference back.
            // SAFETY: as in `push`.
            if unsafe { task.header() }.has(LEFT) {
                // SAFETY: the loop's reference, which was kept for the queue.
                unsafe { task.release() };
            }
        }
    }

    /// Drops all futures. Returns how many of them waited to be polled.
    pub(crate) fn end_futures(&self) -> usize {
        let mut woken = 0;
        while self.next_future().is_some() {
            woken += 1;
        }
        for waker in self.futures.deferred.take() {
            woken += 1;
            drop_isolated(waker);
        }
        // One by one, because a destructor may end others. None is added meanwhile.
        let slots = self.futures.all.borrow().capacity();
        for key in 0..slots {
            let task = self.futures.all.borrow().get(key).copied();
            if let Some(task) = task {
                // SAFETY: the loop's thread; it is listed, so it is not done, and at its end the loop polls
                // nothing.
                unsafe { task.end(JoinError::Terminated) };
            }
        }
        woken
    }
}

/// Wakes whoever it is, whatever comes of that.
pub(crate) fn wake_isolated(waker: Waker) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        log_isolated(|| tracing::error!("a waker panicked"));
        drop_isolated(payload);
    }
}

/// A future whose turn has come.
pub(crate) struct Woken(TaskPtr);

impl Run for Woken {
    #[inline]
    fn run(self, cx: &Cx) {
        cx.0.coop.renew();
        // SAFETY: the loop's thread; it was in the queue and is not done, so the loop has its reference. It
        // is not being polled: the loop runs one callback at a time.
        unsafe { self.0.poll() }
    }

    fn place(&self) -> Option<&'static Location<'static>> {
        // SAFETY: as for `run`.
        unsafe { self.0.header() }.place.get()
    }
}

//! The timers of a loop, as its own thread sees them.

use std::cell::{Cell, RefCell};

use crate::fault::drop_isolated;
use crate::place::Origin;
use crate::sync::lock;
use crate::task::TimerTask;
use crate::timer::claim::{Kind, Taken};
use crate::timer::id::TimerId;
use crate::timer::near::Key;
use crate::timer::page::Unadded;
use crate::timer::remote::{Command, Commands, Remote};
use crate::timer::slots::Slots;
use crate::timer::store::Store;
use crate::timer::wheel::UNLINKED;

/// The sequence number of a timer that was given another deadline before it arrived.
const RESET: u64 = u64::MAX;

/// The parts that change together.
struct Inner {
    slots: Slots,
    store: Store,
    /// The loop's part of the count of referenced timers.
    referenced: isize,
    /// Timers that are here.
    live: usize,
}

/// A timer that keeps the loop alive.
pub(crate) struct Referenced {
    pub(crate) id: TimerId,
    pub(crate) deadline: i64,
    pub(crate) repeats: bool,
    pub(crate) origin: Origin,
}

/// What the timer phase has to do next.
enum Due {
    Run,
    /// It was cleared by another thread.
    Discard,
}

/// No borrow of what is inside is held while code of the user runs, and that includes destructors.
pub(crate) struct Timers {
    inner: RefCell<Inner>,
    commands: Commands,
    /// Whether the loop was ever driven.
    pub(crate) is_driven: Cell<bool>,
    /// Whether `accept` is on the stack.
    is_accepting: Cell<bool>,
    /// The interval whose callback is on the stack.
    pub(crate) current_interval: Cell<Option<TimerId>>,
}

impl Inner {
    /// Ends the timer of a slot whose claim is free already.
    #[inline]
    fn free(&mut self, index: u32, remote: &Remote) -> Option<TimerTask> {
        let page = self.slots.page_of(index);
        self.store.remove(&self.slots, page, index);
        let task = page.slot(index).task.take();
        self.give_back(index, remote);
        task
    }

    /// Gives back the slot of one that is not in the store any more, and whose callback was taken.
    #[inline]
    fn give_back(&mut self, index: u32, remote: &Remote) {
        self.live -= 1;
        self.slots.give_back(index, &remote.directory);
    }

    #[inline]
    fn unreference(&mut self, taken: Taken) {
        self.referenced -= isize::from(taken.referenced);
    }

    /// Carries out what another thread asked for. Returns what is to be dropped.
    fn obey(&mut self, command: Command, remote: &Remote) -> Option<TimerTask> {
        match command {
            Command::Insert { index, deadline, task } => {
                self.slots.learn(index, &remote.directory);
                let slot = self.slots.slot(index);
                slot.task.set(Some(task.into_task()));
                self.live += 1;
                if slot.claim.is_cleared(slot.claim.generation()) {
                    slot.claim.release();
                    return self.free(index, remote);
                }
                let is_reset = slot.sequence.get() == RESET;
                let reset = self.slots.node(index).deadline.get();
                self.store.insert(&self.slots, index, if is_reset { reset } else { deadline });
                None
            }
            Command::Drop(id) => {
                let slot = self.slots.find(id.index())?;
                // It may have been found cleared and dropped before; or it was not added yet, and will be
                // found cleared then.
                let is_added = || self.slots.node(id.index()).prev.get() != UNLINKED;
                if !slot.claim.is_cleared(id.generation()) || !is_added() {
                    return None;
                }
                slot.claim.release();
                self.free(id.index(), remote)
            }
        }
    }

    /// Takes the next timer out. Its callback is put where the caller wants it: as a part of the result it would be
    /// moved again and again.
    #[inline]
    fn next_due(
        &mut self,
        remote: &Remote,
        now: i64,
        was_due: impl Fn(i64),
        task: &mut Option<TimerTask>,
    ) -> Option<Due> {
        let (Key { deadline, index, .. }, page) = self.store.pop_due(&self.slots, now)?;
        was_due(deadline);
        let slot = page.slot(index);
        *task = slot.task.take();
        Some(match slot.claim.fire() {
            Some((Kind::Timeout, taken)) => {
                self.unreference(taken);
                self.give_back(index, remote);
                Due::Run
            }
            Some((Kind::Interval, _)) => Due::Run,
            None => {
                slot.claim.release();
                self.give_back(index, remote);
                Due::Discard
            }
        })
    }
}

impl Timers {
    pub(crate) fn new(now: i64) -> Self {
        let inner = Inner { slots: Slots::new(), store: Store::new(now), referenced: 0, live: 0 };
        Self {
            inner: RefCell::new(inner),
            commands: Commands::new(),
            is_driven: Cell::new(false),
            is_accepting: Cell::new(false),
            current_interval: Cell::new(None),
        }
    }

    /// Sets a timer. What other threads sent before has been accepted.
    #[inline]
    pub(crate) fn set<F>(
        &self,
        remote: &Remote,
        deadline: i64,
        kind: Kind,
        callback: F,
        make: impl FnOnce(F, TimerId) -> TimerTask,
    ) -> Result<TimerId, (Unadded, F)> {
        let inner = &mut *self.inner.borrow_mut();
        let index = match inner.slots.take(&remote.directory) {
            Ok(index) => index,
            Err(unadded) => return Err((unadded, callback)),
        };
        let slot = inner.slots.slot(index);
        let id = TimerId::new(index, slot.claim.arm(kind));
        let before = slot.task.replace(Some(make(callback, id)));
        debug_assert!(before.is_none(), "a free slot has no callback");
        // So it need not be looked at what there is to be dropped.
        std::mem::forget(before);
        inner.store.insert(&inner.slots, index, deadline);
        inner.referenced += 1;
        inner.live += 1;
        remote.lower_next(deadline);
        Ok(id)
    }

    /// Clears a timer. None if there is none. Otherwise the callback is put into `task`, for the caller to drop, unless
    /// it is running or still on its way here: then it is dropped later.
    #[inline]
    pub(crate) fn clear(
        &self,
        remote: &Remote,
        id: TimerId,
        task: &mut Option<TimerTask>,
    ) -> Option<()> {
        self.accept(remote);
        let inner = &mut *self.inner.borrow_mut();
        inner.slots.learn(id.index(), &remote.directory);
        let page = inner.slots.find_page(id.index())?;
        let claim = page.claim(id.index());
        let is_here = page.node(id.index()).prev.get() != UNLINKED;
        let taken = if is_here {
            claim.clear(id.generation())?
        } else {
            claim.clear_remotely(id.generation())?
        };
        inner.unreference(taken);
        if is_here {
            *task = inner.free(id.index(), remote);
        }
        Some(())
    }

    /// Gives a timer another deadline. None if there is none, or it is running.
    pub(crate) fn reset(&self, remote: &Remote, id: TimerId, deadline: i64) -> Option<()> {
        self.accept(remote);
        let inner = &mut *self.inner.borrow_mut();
        inner.slots.learn(id.index(), &remote.directory);
        let slot = inner.slots.find(id.index())?;
        if !slot.claim.is_armed(id.generation()) {
            return None;
        }
        if inner.slots.node(id.index()).prev.get() == UNLINKED {
            slot.sequence.set(RESET);
            inner.slots.node(id.index()).deadline.set(deadline);
        } else {
            let page = inner.slots.page_of(id.index());
            inner.store.remove(&inner.slots, page, id.index());
            inner.store.insert(&inner.slots, id.index(), deadline);
        }
        remote.lower_next(deadline);
        Some(())
    }

    /// References a timer or not. None if there is none.
    pub(crate) fn refer(&self, remote: &Remote, id: TimerId, referenced: bool) -> Option<()> {
        self.accept(remote);
        let inner = &mut *self.inner.borrow_mut();
        inner.slots.learn(id.index(), &remote.directory);
        if inner.slots.find(id.index())?.claim.refer(id.generation(), referenced)? {
            inner.referenced += if referenced { 1 } else { -1 };
        }
        Some(())
    }

    /// Goes on with an interval after its callback. Gives the callback back if it was cleared.
    pub(crate) fn rearm(
        &self,
        remote: &Remote,
        id: TimerId,
        deadline: i64,
        task: TimerTask,
    ) -> Option<TimerTask> {
        // What other threads set while the callback ran comes first among equal deadlines.
        self.accept(remote);
        let inner = &mut *self.inner.borrow_mut();
        let slot = inner.slots.slot(id.index());
        if slot.claim.rearm() {
            slot.task.set(Some(task));
            inner.store.insert(&inner.slots, id.index(), deadline);
            remote.lower_next(deadline);
            return None;
        }
        slot.claim.release();
        inner.free(id.index(), remote);
        Some(task)
    }

    /// Begins the timer phase. False if nothing can be due in it.
    #[inline]
    pub(crate) fn begin(&self, remote: &Remote, now: i64) -> bool {
        self.accept(remote);
        let inner = &mut *self.inner.borrow_mut();
        inner.store.begin(&inner.slots, now);
        !inner.store.is_over()
    }

    /// The next callback of the timer phase.
    #[inline]
    pub(crate) fn pop_due(
        &self,
        remote: &Remote,
        now: i64,
        was_due: impl Fn(i64),
    ) -> Option<TimerTask> {
        loop {
            let mut task = None;
            let due = self.inner.borrow_mut().next_due(remote, now, &was_due, &mut task)?;
            match due {
                Due::Run => {
                    debug_assert!(task.is_some(), "an armed timer has a callback");
                    return task;
                }
                Due::Discard => drop_isolated(task),
            }
        }
    }

    /// Takes in what other threads had sent before.
    #[inline]
    pub(crate) fn accept(&self, remote: &Remote) {
        if remote.has_commands() {
            self.accept_all(remote);
        }
    }

    #[cold]
    fn accept_all(&self, remote: &Remote) {
        // What is dropped on the way may call back; the rest is taken in afterwards.
        if self.is_accepting.replace(true) {
            return;
        }
        // Not more than is there now: other threads may go on for ever.
        let mut discarded = Vec::new();
        let mut left = remote.inbox.len();
        {
            let is_taken_over = (!self.is_driven.get()).then(|| lock(&remote.is_taken_over));
            while left > 0
                && !is_taken_over.as_deref().is_some_and(|is_taken_over| *is_taken_over)
                // SAFETY: a `Timers` belongs to one loop and its thread, and is the only consumer of that
                // loop's commands. `Remote::end_undriven` is excluded by the state if the loop is driven,
                // otherwise by the lock.
                && let Some(command) = unsafe { self.commands.pop(remote) }
            {
                discarded.extend(self.inner.borrow_mut().obey(command, remote));
                left -= 1;
            }
        }
        let wanted = remote.wanted();
        {
            let inner = &mut *self.inner.borrow_mut();
            remote.supply((0..wanted).map_while(|_| inner.slots.take(&remote.directory).ok()));
        }
        discarded.into_iter().for_each(drop_isolated);
        self.is_accepting.set(false);
    }

    /// The earliest deadline, or that of a timer that was cleared. Other threads know it then, too.
    pub(crate) fn next(&self, remote: &Remote) -> Option<i64> {
        let announced = remote.announced();
        self.accept(remote);
        let inner = &mut *self.inner.borrow_mut();
        let next = inner.store.next(&inner.slots);
        // A command that is not complete yet hides those behind it.
        remote.publish_next(next, announced.filter(|_| remote.inbox.len() == 0));
        next
    }

    /// How many are set, as far as the loop knows.
    #[cfg(feature = "metrics")]
    pub(crate) fn len(&self) -> usize {
        self.inner.borrow().live
    }

    /// Those that keep the loop alive, so many at the most. What other threads sent before has been accepted.
    pub(crate) fn list_referenced(&self, limit: usize) -> Vec<Referenced> {
        let inner = &*self.inner.borrow();
        let all = inner.slots.indices().filter_map(|index| {
            let slot = inner.slots.find(index)?;
            let (generation, kind) = slot.claim.referenced()?;
            let mut task = slot.task.take();
            let origin = task.as_mut().map_or_else(Origin::default, TimerTask::origin);
            slot.task.set(task);
            let deadline = inner.slots.node(index).deadline.get();
            let (id, repeats) = (TimerId::new(index, generation), kind == Kind::Interval);
            Some(Referenced { id, deadline, repeats, origin })
        });
        all.take(limit).collect()
    }

    /// How many keep the loop alive.
    pub(crate) fn count_referenced(&self, remote: &Remote) -> usize {
        let referenced = self.inner.borrow().referenced + remote.referenced();
        usize::try_from(referenced).unwrap_or(0)
    }

    /// Whether a timer keeps the loop alive.
    pub(crate) fn is_referenced(&self, remote: &Remote) -> bool {
        self.count_referenced(remote) > 0
    }

    /// Drops all timers. The inbox is closed.
    pub(crate) fn end(&self, remote: &Remote) {
        let mut discarded = Vec::new();
        // SAFETY: as in `accept_all`; if another thread has taken the place of the loop, then it is done.
        unsafe {
            self.commands.drain(remote, |command| {
                if let Command::Insert { task, .. } = command {
                    discarded.push(task.into_task());
                }
            });
        }
        {
            let inner = &mut *self.inner.borrow_mut();
            for index in inner.slots.indices() {
                if let Some(slot) = inner.slots.find(index) {
                    inner.referenced -= isize::from(slot.claim.abandon());
                    discarded.extend(slot.task.take());
                }
            }
            inner.store.clear();
            inner.slots = Slots::new();
            inner.live = 0;
        }
        remote.end();
        discarded.into_iter().for_each(drop_isolated);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::task::SendTask;
    use crate::timer::page::PAGE;
    use std::sync::Arc;

    // spec: TM-8, ER-2
    #[test]
    fn when_all_ids_are_used_timers_are_refused_and_nothing_is_leaked() {
        let (remote, timers) = (Remote::with_max(1), Timers::new(0));
        let capture = Arc::new(());
        let callback = |capture: &Arc<()>| {
            let capture = Arc::clone(capture);
            move |_: &crate::Cx| drop(capture)
        };
        let set = || {
            timers.set(&remote, 7, Kind::Timeout, callback(&capture), |callback, _| {
                TimerTask::new(callback)
            })
        };
        let ids: Vec<_> = (0..PAGE).map(|_| set().ok().unwrap()).collect();
        for _ in 0..2 {
            let (unadded, refused) = set().err().unwrap();
            assert_eq!(unadded, Unadded::Exhausted);
            drop(refused);
            let (unadded, _) = remote
                .set(7, Kind::Timeout, callback(&capture), |callback, _| SendTask::new(callback))
                .err()
                .unwrap();
            assert_eq!(unadded, Unadded::Exhausted, "for other threads, too");
            assert_eq!(Arc::strong_count(&capture), 1 + ids.len());
            assert!(!remote.has_commands());
        }
        assert!(timers.clear(&remote, ids[3], &mut None).is_some());
        let again = set().ok().unwrap();
        assert!(!ids.contains(&again), "another id in the same place");
        timers.end(&remote);
        assert_eq!(Arc::strong_count(&capture), 1);
    }
}

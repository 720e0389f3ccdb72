//! A lane as the loop sees it: what other threads sent, and what its own thread queued.
//!
//! Both parts are first-in, first-out. When both have something, they take turns of up to [`SHARE`]
//! tasks, so that neither keeps the other waiting for ever. A thread's tasks all go through the
//! same part, so each thread's order is kept.

use std::cell::Cell;

use crate::chunk::ChunkQueue;
use crate::inbox::{Inbox, Outlet};
use crate::task::{Callback, SendTask, TakenTask, Task};

/// Tasks in a turn.
const SHARE: i32 = 64;

/// The loop's end of an [`Inbox`], and the queue of the loop's own thread beside it.
pub(crate) struct Lane {
    outlet: Outlet<SendTask>,
    own: ChunkQueue<Task>,
    /// Positive: how many more tasks of its own the loop takes first. Otherwise: minus the number that
    /// it has taken of others since.
    turn: Cell<i32>,
}

impl Lane {
    pub(crate) const fn new() -> Self {
        Self { outlet: Outlet::new(), own: ChunkQueue::new(), turn: Cell::new(SHARE) }
    }

    /// Queues a task of the loop's own thread. Whether it may be is for the caller to decide.
    #[inline]
    pub(crate) fn push<F: Callback>(&self, inbox: &Inbox<SendTask>, f: F) {
        // SAFETY: a task is written, and nothing else done.
        unsafe { self.own.push_in_place(|place| Task::write(place, f)) };
        inbox.add_held(1);
    }

    /// The queue of the loop's own thread, and what was taken over from others.
    pub(crate) fn chunks(&self) -> (&ChunkQueue<Task>, &ChunkQueue<SendTask>) {
        (&self.own, self.outlet.taken())
    }

    /// Queues a task that is made already.
    pub(crate) fn push_task(&self, inbox: &Inbox<SendTask>, task: Task) {
        self.own.push(task);
        inbox.add_held(1);
    }

    /// The next task, if there is one.
    #[inline]
    pub(crate) fn pop(&self, inbox: &Inbox<SendTask>) -> Option<TakenTask> {
        let turn = self.turn.get();
        if turn > 0
            && let Some(task) = self.pop_own(inbox)
        {
            self.turn.set(turn - 1);
            return Some(task);
        }
        self.pop_other(inbox)
    }

    /// The rest of `pop`, kept apart so that the way to the loop's own tasks is short.
    #[inline(never)]
    fn pop_other(&self, inbox: &Inbox<SendTask>) -> Option<TakenTask> {
        let turn = self.turn.get();
        if turn > 0 {
            return self.pop_sent(inbox);
        }
        if turn > -SHARE
            && let Some(task) = self.pop_sent(inbox)
        {
            self.turn.set(turn - 1);
            return Some(task);
        }
        // The others have had their turn, or have nothing.
        let own = self.pop_own(inbox);
        self.turn.set(SHARE - i32::from(own.is_some()));
        own.or_else(|| self.pop_sent(inbox))
    }

    #[inline]
    fn pop_own(&self, inbox: &Inbox<SendTask>) -> Option<TakenTask> {
        let task = self.own.pop_in_place()?;
        inbox.sub_held();
        // SAFETY: the queue has given the task away.
        Some(unsafe { TakenTask::new(task) })
    }

    #[inline]
    fn pop_sent(&self, inbox: &Inbox<SendTask>) -> Option<TakenTask> {
        // SAFETY: a `Lane` belongs to one loop, is reached from that loop's thread alone (it is
        // `!Sync` and lives behind an `Rc`), and is the only outlet of that loop's inbox, except for
        // `Shared::finish_undriven` of a loop that was never driven, which excludes the loop by the
        // state.
        let task = unsafe { self.outlet.pop_in_place(inbox) }?;
        // SAFETY: the outlet has given the task away; a `SendTask` is a `Task` in memory.
        Some(unsafe { TakenTask::new(task.cast()) })
    }

    /// Takes out everything that is queued, once the inbox is closed.
    pub(crate) fn drain(&self, inbox: &Inbox<SendTask>, mut sink: impl FnMut(Task)) {
        // SAFETY: as in `pop_sent`.
        unsafe { inbox.drain(&self.outlet, |task| sink(task.into_task())) };
        while let Some(task) = self.own.pop() {
            inbox.sub_held();
            sink(task);
        }
    }

    /// Whether [`Lane::pop`] would find something.
    #[inline]
    pub(crate) fn is_ready(&self, inbox: &Inbox<SendTask>) -> bool {
        inbox.held() != 0 || inbox.is_ready()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::Duration;

    use super::SHARE;
    use crate::EventLoop;

    #[test]
    fn a_task_that_waits_at_the_end_is_dropped_and_not_leaked() {
        let event_loop = EventLoop::new().unwrap();
        let capture = Arc::new(());
        for _ in 0..3 {
            let capture = Arc::clone(&capture);
            event_loop.cx().submit(move |_| drop(capture)).unwrap();
        }
        drop(event_loop);
        assert_eq!(Arc::strong_count(&capture), 1);
    }

    #[test]
    fn the_loops_own_tasks_and_those_of_others_take_turns() {
        let event_loop = EventLoop::new().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let task = |whose: &'static str| {
            let log = Arc::clone(&log);
            move || log.lock().unwrap().push(whose)
        };
        for _ in 0..150 {
            let task = task("own");
            event_loop.cx().submit(move |_| task()).unwrap();
        }
        let (handle, task) = (event_loop.handle(), task("sent"));
        let other = thread::spawn(move || {
            for _ in 0..150 {
                let task = task.clone();
                handle.submit(move |_| task()).map_err(drop).unwrap();
            }
        });
        other.join().unwrap();
        event_loop.turn(Duration::ZERO).unwrap();
        let log = log.lock().unwrap();
        let turns: Vec<_> = log.chunk_by(|a, b| a == b).map(|turn| (turn[0], turn.len())).collect();
        let share = SHARE as usize;
        let rest = 150 - 2 * share;
        let both = |count| [("own", count), ("sent", count)];
        assert_eq!(turns, [both(share), both(share), both(rest)].concat());
    }
}

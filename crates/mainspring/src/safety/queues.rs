//! The queues of a loop, checked before and after every operation.
//!
//! # What is checked
//!
//! 1. The cursors of each queue make sense in themselves.
//! 2. They are where the last operation has left them.
//! 3. The queue has as many entries as the ledger has tasks in it.
//! 4. A chunk from which every entry was taken holds nothing: each slot was wiped when its entry left it.

use std::ptr::NonNull;

use super::ledger::Ledger;
use crate::Queue;
use crate::chunk::{ChunkQueue, Cursors};
use crate::inbox::Inbox;
use crate::local::Local;
use crate::task::{SendTask, Task};

/// How a queue looked after the last operation on it: what the loop's own thread has queued, what it has taken over
/// from others, and what others have put in since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Noted {
    own: Cursors,
    taken: Cursors,
    sent: Cursors,
}

impl Noted {
    fn parts(&self) -> [&Cursors; 3] {
        [&self.own, &self.taken, &self.sent]
    }

    fn len(&self) -> usize {
        self.parts().into_iter().map(Cursors::len).sum()
    }
}

/// The chunks of a queue that only the loop's thread may look at.
struct Chunks<'a> {
    own: &'a ChunkQueue<Task>,
    taken: Option<&'a ChunkQueue<SendTask>>,
    inbox: Option<&'a Inbox<SendTask>>,
}

impl<'a> Chunks<'a> {
    /// None for a queue that is not in chunks.
    fn of(local: &'a Local, queue: Queue) -> Option<Self> {
        let shared = &*local.shared;
        let (lane, inbox) = match queue {
            Queue::External => (&local.external, &shared.external),
            Queue::Internal => (&local.internal, &shared.internal),
            Queue::Microtasks => (&local.microtasks, &shared.microtasks),
            Queue::NextTicks => {
                return Some(Self { own: &local.next_ticks, taken: None, inbox: None });
            }
            Queue::Closes => return Some(Self { own: &local.closes, taken: None, inbox: None }),
            Queue::Immediates | Queue::Futures => return None,
        };
        let (own, taken) = lane.chunks();
        Some(Self { own, taken: Some(taken), inbox: Some(inbox) })
    }

    fn note(&self) -> Noted {
        Noted {
            own: self.own.cursors(),
            taken: self.taken.map_or_else(Cursors::default, ChunkQueue::cursors),
            sent: self.inbox.map_or_else(Cursors::default, Inbox::sent),
        }
    }
}

/// Whether nothing is in the first slots of a queue's head chunk, from which every entry was taken.
fn is_clean<T>(queue: &ChunkQueue<T>, slots: usize) -> bool {
    // SAFETY: these are slots of tasks, `SendTask` being one in memory, which were all written once.
    queue.first_slots(slots).all(|slot: NonNull<T>| unsafe { Task::is_wiped(slot.cast()) })
}

impl Ledger {
    /// Checks a queue before or after an operation, and notes how it looks. For the loop's thread.
    pub(super) fn check(
        &mut self,
        local: &Local,
        queue: Queue,
        is_before: bool,
    ) -> Result<(), String> {
        if self.is_over {
            return Ok(());
        }
        let Some(chunks) = Chunks::of(local, queue) else {
            let is_lost = queue == Queue::Immediates
                && local.immediates.is_empty()
                && self.queued(queue) != 0;
            return if is_lost { Err(lost(queue, 0, self.queued(queue))) } else { Ok(()) };
        };
        let before = self.noted[queue as usize];
        let now = chunks.note();
        self.compare(queue, before, now, is_before)?;
        if let Some(inbox) = chunks.inbox
            && inbox.held() != now.own.len() + now.taken.len()
        {
            let (held, own) = (inbox.held(), now.own.len() + now.taken.len());
            return Err(format!("queue `{queue}` counts {held} entries and holds {own}"));
        }
        let is_own_clean = is_clean(chunks.own, given_away(&now.own, &before, is_before));
        let is_taken_clean = chunks
            .taken
            .is_none_or(|taken| is_clean(taken, given_away(&now.taken, &before, is_before)));
        if !is_own_clean || !is_taken_clean {
            return Err(format!("a chunk of queue `{queue}` is returned and holds something"));
        }
        Ok(())
    }

    /// Checks what other threads have put into a queue. For any thread.
    pub(super) fn check_sent(
        &mut self,
        inbox: &Inbox<SendTask>,
        queue: Queue,
        is_before: bool,
    ) -> Result<(), String> {
        if self.is_over {
            return Ok(());
        }
        let before = self.noted[queue as usize];
        let now = Noted { sent: inbox.sent(), ..before };
        self.compare(queue, before, now, is_before)
    }

    fn compare(
        &mut self,
        queue: Queue,
        before: Noted,
        now: Noted,
        is_before: bool,
    ) -> Result<(), String> {
        if let Some(defect) = now.parts().into_iter().find_map(|part| part.defect()) {
            return Err(format!("{defect}, in queue `{queue}`: {now:?}"));
        }
        if is_before && now != before {
            let cause = format!("the cursors of queue `{queue}` have moved by themselves");
            return Err(format!("{cause}: from {before:?} to {now:?}"));
        }
        if now.len() != self.queued(queue) {
            return Err(lost(queue, now.len(), self.queued(queue)));
        }
        self.noted[queue as usize] = now;
        Ok(())
    }
}

fn lost(queue: Queue, entries: usize, tasks: usize) -> String {
    format!("queue `{queue}` holds {entries} entries, and {tasks} tasks were put into it")
}

/// How many slots of the head chunk were given away, if it was emptied: it is about to be returned, or its cursors were reset.
fn given_away(now: &Cursors, before: &Noted, is_before: bool) -> usize {
    if is_before {
        return if now.is_head_spent() { now.read } else { 0 };
    }
    let reset = before.parts().into_iter().find(|part| now.is_reset_since(part));
    reset.map_or(0, |part| part.write)
}

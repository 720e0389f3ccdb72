//! Immediates: callbacks for the check phase, in order, each of which can be cleared.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;

use crate::task::Task;

/// Names a callback that [`Cx::set_immediate`](crate::Cx::set_immediate) queued.
///
/// Ids are never reused by a loop.
///
/// ```
/// use mainspring::EventLoop;
///
/// let event_loop = EventLoop::new()?;
/// let id = event_loop.cx().set_immediate(|_| println!("never"));
/// assert!(event_loop.cx().clear_immediate(id));
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImmediateId(u64);

impl fmt::Display for ImmediateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The capacity that is kept when the queue becomes empty.
const KEEP: usize = 1024;

/// The queue. An id is a position in the stream of all immediates of this loop.
pub(crate) struct Immediates {
    /// Cleared entries stay, empty, until their turn comes.
    entries: RefCell<VecDeque<Option<Task>>>,
    /// The id of the first entry.
    first: Cell<u64>,
    /// Entries that were not cleared.
    alive: Cell<usize>,
}

impl Immediates {
    pub(crate) const fn new() -> Self {
        Self { entries: RefCell::new(VecDeque::new()), first: Cell::new(1), alive: Cell::new(0) }
    }

    pub(crate) fn push(&self, task: Task) -> ImmediateId {
        let mut entries = self.entries.borrow_mut();
        let id = ImmediateId(self.first.get() + entries.len() as u64);
        entries.push_back(Some(task));
        self.alive.set(self.alive.get() + 1);
        id
    }

    /// An id for a callback that will not run.
    pub(crate) fn skip(&self) -> ImmediateId {
        let id = self.end();
        self.entries.borrow_mut().push_back(None);
        id
    }

    /// Takes the callback out, for the caller to drop.
    pub(crate) fn clear(&self, id: ImmediateId) -> Option<Task> {
        let index = usize::try_from(id.0.checked_sub(self.first.get())?).ok()?;
        let task = self.entries.borrow_mut().get_mut(index)?.take()?;
        self.alive.set(self.alive.get() - 1);
        Some(task)
    }

    /// The id that the next immediate will have: those of now are all below.
    pub(crate) fn end(&self) -> ImmediateId {
        ImmediateId(self.first.get() + self.entries.borrow().len() as u64)
    }

    /// The next callback with an id below `end`.
    pub(crate) fn pop_before(&self, end: ImmediateId) -> Option<Task> {
        let mut entries = self.entries.borrow_mut();
        while self.first.get() < end.0 {
            let entry = entries.pop_front()?;
            self.first.set(self.first.get() + 1);
            if entries.is_empty() && entries.capacity() > KEEP {
                entries.shrink_to(KEEP);
            }
            if let Some(task) = entry {
                self.alive.set(self.alive.get() - 1);
                return Some(task);
            }
        }
        None
    }

    /// Whether there are no entries, not even cleared ones.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.borrow().is_empty()
    }

    /// How many were not cleared.
    pub(crate) fn len(&self) -> usize {
        self.alive.get()
    }
}

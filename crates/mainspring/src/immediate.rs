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

impl ImmediateId {
    /// The id as a number, for a script engine.
    ///
    /// ```
    /// let event_loop = mainspring::EventLoop::new()?;
    /// assert_ne!(event_loop.cx().set_immediate(|_| ()).get(), 0);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The id with this number. Whether there is such an immediate is not asked here.
    ///
    /// ```
    /// use mainspring::{EventLoop, ImmediateId};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let id = event_loop.cx().set_immediate(|_| ());
    /// assert_eq!(ImmediateId::from_u64(id.get()), id);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for ImmediateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The capacity that is kept when the queue becomes empty.
const KEEP: usize = 1024;

struct Entry {
    task: Task,
    is_referenced: bool,
}

/// The queue. An id is a position in the stream of all immediates of this loop.
pub(crate) struct Immediates {
    /// Cleared entries stay, empty, until their turn comes.
    entries: RefCell<VecDeque<Option<Entry>>>,
    /// The id of the first entry.
    first: Cell<u64>,
    /// Entries that were not cleared and keep the loop alive.
    referenced: Cell<usize>,
}

impl Immediates {
    pub(crate) const fn new() -> Self {
        Self {
            entries: RefCell::new(VecDeque::new()),
            first: Cell::new(1),
            referenced: Cell::new(0),
        }
    }

    pub(crate) fn push(&self, task: Task) -> ImmediateId {
        let mut entries = self.entries.borrow_mut();
        let id = ImmediateId(self.first.get() + entries.len() as u64);
        entries.push_back(Some(Entry { task, is_referenced: true }));
        self.referenced.set(self.referenced.get() + 1);
        id
    }

    /// An id for a callback that will not run.
    pub(crate) fn skip(&self) -> ImmediateId {
        let id = self.end();
        self.entries.borrow_mut().push_back(None);
        id
    }

    fn index(&self, id: ImmediateId) -> Option<usize> {
        usize::try_from(id.0.checked_sub(self.first.get())?).ok()
    }

    /// Takes the callback out, for the caller to drop, and tells whether it kept the loop alive.
    pub(crate) fn clear(&self, id: ImmediateId) -> Option<(Task, bool)> {
        let entry = self.entries.borrow_mut().get_mut(self.index(id)?)?.take()?;
        Some(self.give(entry))
    }

    /// Whether the callback keeps the loop alive. Gives what was so before, if it is still there.
    pub(crate) fn refer(&self, id: ImmediateId, referenced: bool) -> Option<bool> {
        let mut entries = self.entries.borrow_mut();
        let entry = entries.get_mut(self.index(id)?)?.as_mut()?;
        let before = std::mem::replace(&mut entry.is_referenced, referenced);
        let count = self.referenced.get() + usize::from(referenced) - usize::from(before);
        self.referenced.set(count);
        Some(before)
    }

    fn give(&self, entry: Entry) -> (Task, bool) {
        self.referenced.set(self.referenced.get() - usize::from(entry.is_referenced));
        (entry.task, entry.is_referenced)
    }

    /// The id that the next immediate will have: those of now are all below.
    #[inline]
    pub(crate) fn end(&self) -> ImmediateId {
        ImmediateId(self.first.get() + self.entries.borrow().len() as u64)
    }

    /// The next callback with an id below `end`, and whether it kept the loop alive.
    pub(crate) fn pop_before(&self, end: ImmediateId) -> Option<(Task, bool)> {
        let mut entries = self.entries.borrow_mut();
        while self.first.get() < end.0 {
            let entry = entries.pop_front()?;
            self.first.set(self.first.get() + 1);
            if entries.is_empty() && entries.capacity() > KEEP {
                entries.shrink_to(KEEP);
            }
            if let Some(entry) = entry {
                return Some(self.give(entry));
            }
        }
        None
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.borrow().iter().filter(|entry| entry.is_some()).count()
    }

    /// Whether there are no entries, not even cleared ones.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.borrow().is_empty()
    }

    /// How many keep the loop alive.
    pub(crate) fn referenced(&self) -> usize {
        self.referenced.get()
    }
}

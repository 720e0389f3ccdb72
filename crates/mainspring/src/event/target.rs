//! What events are dispatched to.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::{Rc, Weak};

use super::listener::Entry;
use super::thread;
use crate::fault::drop_isolated;
use crate::{Listener, ListenerOptions};

/// The listeners for one type of event. A dispatch goes over the list as it was; who changes it meanwhile
/// makes a new one.
pub(super) type List = Rc<Vec<Rc<Entry>>>;

/// Something that events are dispatched to. Clones are the same target.
///
/// A target keeps its listeners and its parent alive, so a listener that owns its own target is never
/// dropped, unless it is removed.
///
/// ```
/// use mainspring::{Event, EventLoop, EventTarget, Listener};
///
/// let event_loop = EventLoop::new()?;
/// let target = EventTarget::new();
/// let listener = Listener::new(|_, event| println!("{} came", event.type_()));
/// target.add_event_listener("load", &listener, false);
/// target.dispatch_event(event_loop.cx(), &Event::new("load")).unwrap();
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone)]
pub struct EventTarget(pub(super) Rc<Inner>);

pub(super) struct Inner {
    pub(super) number: u64,
    parent: Option<EventTarget>,
    /// No list is empty. Nothing is borrowed while code of the user runs, and that includes destructors.
    lists: RefCell<HashMap<Box<str>, List>>,
    /// Whether it was made known to its thread.
    is_known: Cell<bool>,
}

impl Inner {
    fn list(&self, type_: &str) -> Option<List> {
        self.lists.borrow().get(type_).cloned()
    }

    /// Changes a list, if there is one.
    fn change(&self, type_: &str, change: impl FnOnce(&mut Vec<Rc<Entry>>)) {
        let mut lists = self.lists.borrow_mut();
        let Some(list) = lists.get_mut(type_) else { return };
        change(Rc::make_mut(list));
        if list.is_empty() {
            lists.remove(type_);
        }
    }

    /// Removes the listeners of a type whose signals are aborted.
    fn tidy(&self, type_: &str) {
        let mut gone = Vec::new();
        if self.list(type_).is_some_and(|list| list.iter().any(|entry| entry.is_gone())) {
            self.change(type_, |list| {
                gone.extend(list.extract_if(.., |entry| entry.is_gone()));
            });
        }
        for entry in gone {
            entry.is_removed.set(true);
            drop_isolated(entry);
        }
    }

    /// Removes all listeners whose signals are aborted.
    pub(super) fn tidy_all(&self) {
        let is_touched = |list: &List| list.iter().any(|entry| entry.is_gone());
        let types: Vec<_> = {
            let lists = self.lists.borrow();
            let touched = lists.iter().filter(|(_, list)| is_touched(list));
            touched.map(|(type_, _)| type_.clone()).collect()
        };
        for type_ in types {
            self.tidy(&type_);
        }
    }
}

impl EventTarget {
    /// A target without a parent.
    ///
    /// ```
    /// let target = mainspring::EventTarget::new();
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::with(None)
    }

    /// A target whose events come by its parent first, for those listeners that capture, and go up to it
    /// afterwards, if they bubble.
    ///
    /// ```
    /// use mainspring::{Event, EventLoop, EventTarget, Listener};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let parent = EventTarget::new();
    /// let child = EventTarget::with_parent(&parent);
    /// let listener = Listener::new(|cx, _| cx.shutdown());
    /// parent.add_event_listener("click", &listener, false);
    /// child.dispatch_event(event_loop.cx(), &Event::new("click").bubbles(true)).unwrap();
    /// assert!(event_loop.run().is_err());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn with_parent(parent: &Self) -> Self {
        Self::with(Some(parent.clone()))
    }

    fn with(parent: Option<Self>) -> Self {
        Self(Rc::new(Inner {
            number: thread::next_number(),
            parent,
            lists: RefCell::default(),
            is_known: Cell::new(false),
        }))
    }

    pub(super) fn parent(&self) -> Option<&Self> {
        self.0.parent.as_ref()
    }

    /// Calls `listener` for each event of this type, after those that were added before. A listener that is
    /// there already, for the same type and capture, is not added again, and its options stay. One whose
    /// signal is aborted is not added.
    ///
    /// ```
    /// use mainspring::{EventTarget, Listener, ListenerOptions};
    ///
    /// let target = EventTarget::new();
    /// let listener = Listener::new(|_, _| println!("loaded"));
    /// target.add_event_listener("load", &listener, ListenerOptions::new().once(true));
    /// ```
    pub fn add_event_listener(
        &self,
        type_: &str,
        listener: &Listener,
        options: impl Into<ListenerOptions>,
    ) {
        let options = options.into();
        if options.signal.as_ref().is_some_and(|signal| signal.aborted()) {
            return;
        }
        self.0.tidy(type_);
        let is_same = |entry: &Rc<Entry>| entry.is_same(listener, options.capture);
        if self.0.list(type_).is_some_and(|list| list.iter().any(is_same)) {
            return;
        }
        let entry = Rc::new(Entry {
            listener: listener.clone(),
            options,
            is_removed: Cell::new(false),
            algorithm: Cell::new(None),
        });
        self.push(type_, Rc::clone(&entry));
        let Some(signal) = &entry.options.signal else { return };
        if !self.0.is_known.replace(true) {
            thread::enter(&self.0);
        }
        let number = self.0.number;
        match signal.add_algorithm(move |_| thread::tidy(number)) {
            Some(id) => entry.algorithm.set(Some(id)),
            // Another thread has just done it.
            None => self.0.tidy(type_),
        }
    }

    fn push(&self, type_: &str, entry: Rc<Entry>) {
        let mut lists = self.0.lists.borrow_mut();
        match lists.get_mut(type_) {
            Some(list) => Rc::make_mut(list).push(entry),
            None => _ = lists.insert(type_.into(), Rc::new(vec![entry])),
        }
    }

    /// Removes a listener: of the options, only capture counts. It is not called any more, not even in a
    /// dispatch that is under way. Tells whether it was there.
    ///
    /// ```
    /// use mainspring::{EventTarget, Listener};
    ///
    /// let target = EventTarget::new();
    /// let listener = Listener::new(|_, _| println!("loaded"));
    /// target.add_event_listener("load", &listener, false);
    /// assert!(target.remove_event_listener("load", &listener, false));
    /// assert!(!target.remove_event_listener("load", &listener, false));
    /// ```
    pub fn remove_event_listener(
        &self,
        type_: &str,
        listener: &Listener,
        options: impl Into<ListenerOptions>,
    ) -> bool {
        let capture = options.into().capture;
        self.0.tidy(type_);
        let list = self.0.list(type_);
        let is_same = |entry: &&Rc<Entry>| entry.is_same(listener, capture);
        let entry = list.as_ref().and_then(|list| list.iter().find(is_same)).cloned();
        drop(list);
        entry.map(|entry| self.remove(type_, &entry)).is_some()
    }

    pub(super) fn remove(&self, type_: &str, entry: &Rc<Entry>) {
        entry.is_removed.set(true);
        self.0.change(type_, |list| list.retain(|other| !Rc::ptr_eq(other, entry)));
    }

    /// The listeners as they are now.
    pub(super) fn listeners(&self, type_: &str) -> Option<List> {
        self.0.tidy(type_);
        self.0.list(type_)
    }
}

impl Default for EventTarget {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether both are the same target.
impl PartialEq for EventTarget {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for EventTarget {}

impl fmt::Debug for EventTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventTarget").field("number", &self.0.number).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.is_known.get() {
            thread::leave(self.number);
        }
        // One after the other: a long line of parents would be too deep for the stack.
        let mut next = self.parent.take();
        while let Some(mut parent) = next.and_then(|parent| Rc::into_inner(parent.0)) {
            next = parent.parent.take();
        }
    }
}

/// What a thread knows of a target.
pub(super) type Known = Weak<Inner>;

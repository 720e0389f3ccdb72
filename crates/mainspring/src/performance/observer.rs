//! Who is told of entries.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::{Rc, Weak};

use crate::Cx;
use crate::fault::drop_isolated;
use crate::immediate::ImmediateId;
use crate::local::Local;
use crate::performance::entry::{EntryType, PerformanceEntry, select};
use crate::performance::error::PerformanceError;
use crate::performance::observe_options::{Form, ObserveOptions, Types};
use crate::place::Place;

type Callback = dyn FnMut(&Cx, &PerformanceObserverEntryList, &PerformanceObserver);

/// Is told of marks and measures after they were recorded.
///
/// 1. Entries are delivered in the check phase, never by the call that records them. What was recorded until
///    then is delivered together, by one call of the callback.
/// 2. Observers are called in the order in which they first had something to be told, as in Node. Each call is
///    a callback of its own: microtasks are run after it, and its panic keeps nothing from the others.
/// 3. What the callback itself records is delivered to it in a later tick. A callback that always records what
///    it observes keeps the loop busy.
/// 4. An entry that waits keeps the loop alive until it is delivered, and no longer. An observer that has
///    nothing to be told does not keep it alive.
///
/// As in JavaScript, an observer that observes stays, also if this handle is dropped, until it is
/// [disconnected](Self::disconnect) or the loop ends. Then its callback is dropped, with what was not delivered;
/// on a loop that has ended, observers do nothing.
///
/// Clones are the same observer.
///
/// ```
/// use mainspring::{EntryType, EventLoop, PerformanceObserver};
///
/// let event_loop = EventLoop::new()?;
/// let observer = PerformanceObserver::new(event_loop.cx(), |_, list, _| {
///     for entry in list.get_entries_by_type(EntryType::Measure) {
///         println!("{}: {} ms", entry.name(), entry.duration());
///     }
/// });
/// observer.observe(EntryType::Measure)?;
/// event_loop.cx().performance().measure("startup", ())?;
/// event_loop.run_until_idle()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PerformanceObserver {
    cx: Cx,
    observer: Rc<Observer>,
}

/// No borrow of what is inside is held while code of the user runs.
struct Observer {
    /// None while it is on the stack, and after the loop's end.
    callback: Cell<Option<Box<Callback>>>,
    /// What waits to be delivered.
    buffer: RefCell<Vec<PerformanceEntry>>,
    /// The immediate that will deliver it.
    delivery: Cell<Option<ImmediateId>>,
    /// None if it has not been told since it was made or disconnected.
    form: Cell<Option<Form>>,
    /// It is registered if there are any.
    types: Cell<Types>,
}

impl PerformanceObserver {
    /// Makes an observer that does not observe anything yet. See also
    /// [`Performance::observe`](crate::Performance::observe).
    ///
    /// The callback is given the entries, and the observer itself.
    ///
    /// ```
    /// use mainspring::{EntryType, EventLoop, PerformanceObserver};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let observer = PerformanceObserver::new(event_loop.cx(), |_, list, _| println!("{list:?}"));
    /// observer.observe(EntryType::Mark)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new<F>(cx: &Cx, callback: F) -> Self
    where
        F: FnMut(&Cx, &PerformanceObserverEntryList, &Self) + 'static,
    {
        let callback: Box<Callback> = Box::new(callback);
        let observer = Rc::new(Observer {
            callback: Cell::new((!cx.0.finished.get()).then_some(callback)),
            buffer: RefCell::default(),
            delivery: Cell::new(None),
            form: Cell::new(None),
            types: Cell::new(Types::NONE),
        });
        cx.0.performance.observers.know(&observer);
        Self { cx: cx.clone(), observer }
    }

    /// Observes, or observes more or other types: see [`ObserveOptions`].
    ///
    /// # Errors
    ///
    /// [`PerformanceError::MixedObservation`] if it has been given a single type before and is given a list
    /// now, or the reverse, and was not disconnected meanwhile. Nothing changes then.
    ///
    /// ```
    /// use mainspring::{EntryType, EventLoop, ObserveOptions, PerformanceObserver};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let observer = PerformanceObserver::new(event_loop.cx(), |_, _, _| ());
    /// observer.observe(ObserveOptions::buffered(EntryType::Mark))?;
    /// observer.observe(EntryType::Measure)?; // too
    /// assert!(observer.observe([EntryType::Mark]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn observe(&self, options: impl Into<ObserveOptions>) -> Result<(), PerformanceError> {
        let options = options.into();
        if self.observer.form.get().is_some_and(|form| form != options.form) {
            return Err(PerformanceError::MixedObservation);
        }
        self.register(options);
        Ok(())
    }

    /// Observes in the way that it did before, if it did.
    pub(super) fn register(&self, options: ObserveOptions) {
        let local = &*self.cx.0;
        let observer = &self.observer;
        if local.finished.get() {
            return;
        }
        observer.form.set(Some(options.form));
        if options.types.is_empty() {
            return;
        }
        let before = observer.types.get();
        observer.types.set(match options.form {
            Form::Single => before.union(options.types),
            Form::Multiple => options.types,
        });
        if before.is_empty() {
            local.performance.observers.registered.borrow_mut().push(Rc::clone(observer));
        }
        if let Some(entry_type) = options.buffered {
            observer.queue(local, local.performance.recorded(entry_type));
        }
    }

    /// Takes what waits to be delivered, in the order in which it was recorded. The callback is not told of
    /// it any more.
    ///
    /// ```
    /// use mainspring::{EntryType, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// let observer = performance.observe(EntryType::Mark, |_, _, _| unreachable!());
    /// performance.mark("here");
    /// assert_eq!(observer.take_records().len(), 1);
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn take_records(&self) -> Vec<PerformanceEntry> {
        if let Some(id) = self.observer.delivery.take() {
            self.cx.clear_immediate(id);
        }
        self.observer.buffer.take()
    }

    /// Ends the observation. What waits to be delivered is dropped. It can be told to observe again, in
    /// either way.
    ///
    /// ```
    /// use mainspring::{EntryType, EventLoop};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let performance = event_loop.cx().performance();
    /// let observer = performance.observe(EntryType::Mark, |_, _, _| unreachable!());
    /// performance.mark("here");
    /// observer.disconnect();
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn disconnect(&self) {
        let observers = &self.cx.0.performance.observers;
        observers.registered.borrow_mut().retain(|other| !Rc::ptr_eq(other, &self.observer));
        self.observer.types.set(Types::NONE);
        self.observer.form.set(None);
        drop(self.take_records());
    }

    /// The types that can be observed.
    ///
    /// ```
    /// use mainspring::{EntryType, PerformanceObserver};
    ///
    /// let types = PerformanceObserver::supported_entry_types();
    /// assert_eq!(types, [EntryType::Mark, EntryType::Measure]);
    /// assert_eq!(types[0].as_str(), "mark");
    /// ```
    #[must_use]
    pub fn supported_entry_types() -> &'static [EntryType] {
        &EntryType::ALL
    }
}

impl fmt::Debug for PerformanceObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types = self.observer.types.get();
        let types: Vec<_> =
            EntryType::ALL.into_iter().filter(|entry_type| types.contains(*entry_type)).collect();
        f.debug_struct("PerformanceObserver")
            .field("types", &types)
            .field("waiting", &self.observer.buffer.borrow().len())
            .finish_non_exhaustive()
    }
}

impl Observer {
    /// Adds to what waits to be delivered.
    fn queue(self: &Rc<Self>, local: &Local, entries: impl IntoIterator<Item = PerformanceEntry>) {
        let mut buffer = self.buffer.borrow_mut();
        buffer.extend(entries);
        if !buffer.is_empty() && self.delivery.get().is_none() {
            let observer = Rc::clone(self);
            self.delivery
                .set(Some(local.set_immediate(move |cx| observer.deliver(cx), Place::UNKNOWN)));
        }
    }

    fn deliver(self: Rc<Self>, cx: &Cx) {
        /// Puts the callback back, also after a panic.
        struct PutBack<'a>(&'a Observer, Option<Box<Callback>>);
        impl Drop for PutBack<'_> {
            fn drop(&mut self) {
                self.0.callback.set(self.1.take());
            }
        }
        self.delivery.set(None);
        let list = PerformanceObserverEntryList(self.buffer.take());
        let handle = PerformanceObserver { cx: cx.clone(), observer: Rc::clone(&self) };
        let mut taken = PutBack(&self, self.callback.take());
        if let Some(callback) = &mut taken.1 {
            callback(cx, &list, &handle);
        }
    }
}

/// The observers of a loop.
pub(super) struct Observers {
    /// Those that observe something, in the order in which they began to.
    registered: RefCell<Vec<Rc<Observer>>>,
    /// Those that exist, and some that do not any more. At the loop's end they lose their callbacks, which may
    /// hold the loop, or an observer that holds the callback.
    known: RefCell<Vec<Weak<Observer>>>,
}

impl Observers {
    pub(super) fn new() -> Self {
        Self { registered: RefCell::default(), known: RefCell::default() }
    }

    fn know(&self, observer: &Rc<Observer>) {
        let mut known = self.known.borrow_mut();
        if known.len() == known.capacity() {
            known.retain(|other| other.strong_count() > 0);
            // As many again until the next look, so that it costs each of them little.
            let more = known.len() + 4;
            known.reserve(more);
        }
        known.push(Rc::downgrade(observer));
    }

    /// Queues an entry for those who observe its type.
    pub(super) fn offer(&self, local: &Local, entry: &PerformanceEntry) {
        for observer in &*self.registered.borrow() {
            if observer.types.get().contains(entry.entry_type()) {
                observer.queue(local, [entry.clone()]);
            }
        }
    }

    /// Drops all callbacks, and what was not delivered.
    pub(super) fn end(&self) {
        let registered = self.registered.take();
        for observer in self.known.take().iter().filter_map(Weak::upgrade) {
            observer.types.set(Types::NONE);
            drop_isolated(observer.callback.take());
            observer.buffer.take().into_iter().for_each(drop_isolated);
        }
        drop(registered);
    }
}

/// What an observer is told: the entries that were recorded since it was told last.
///
/// ```
/// use mainspring::{EntryType, EventLoop};
///
/// let event_loop = EventLoop::new()?;
/// let performance = event_loop.cx().performance();
/// performance.observe(EntryType::Mark, |_, list, _| assert_eq!(list.get_entries().len(), 1));
/// performance.mark("here");
/// event_loop.run_until_idle()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct PerformanceObserverEntryList(Vec<PerformanceEntry>);

impl PerformanceObserverEntryList {
    /// All of them, in the order of their start times; equal ones, in the order in which they were recorded.
    ///
    /// ```
    /// # use mainspring::{EntryType, EventLoop};
    /// # let event_loop = EventLoop::new()?;
    /// # let performance = event_loop.cx().performance();
    /// performance.observe(EntryType::Mark, |_, list, _| {
    ///     list.get_entries().iter().for_each(|mark| println!("{}", mark.name()));
    /// });
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn get_entries(&self) -> Vec<PerformanceEntry> {
        select(&self.0, None, None)
    }

    /// Those of one type, in the same order.
    ///
    /// ```
    /// # use mainspring::{EntryType, EventLoop};
    /// # let event_loop = EventLoop::new()?;
    /// # let performance = event_loop.cx().performance();
    /// performance.observe([EntryType::Mark, EntryType::Measure], |_, list, _| {
    ///     println!("{} marks", list.get_entries_by_type(EntryType::Mark).len());
    /// });
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn get_entries_by_type(&self, entry_type: EntryType) -> Vec<PerformanceEntry> {
        select(&self.0, None, Some(entry_type))
    }

    /// Those of one name, of all types or of one, in the same order.
    ///
    /// ```
    /// # use mainspring::{EntryType, EventLoop};
    /// # let event_loop = EventLoop::new()?;
    /// # let performance = event_loop.cx().performance();
    /// performance.observe([EntryType::Mark, EntryType::Measure], |_, list, _| {
    ///     println!("{:?}", list.get_entries_by_name("work", None));
    ///     println!("{:?}", list.get_entries_by_name("work", EntryType::Measure));
    /// });
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn get_entries_by_name(
        &self,
        name: &str,
        entry_type: impl Into<Option<EntryType>>,
    ) -> Vec<PerformanceEntry> {
        select(&self.0, Some(name), entry_type.into())
    }
}

impl fmt::Debug for PerformanceObserverEntryList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::EventLoop;

    // spec: JS-1
    #[test]
    fn observers_that_are_gone_are_forgotten() {
        let event_loop = EventLoop::new().unwrap();
        let make = || PerformanceObserver::new(event_loop.cx(), |_, _, _| ());
        let kept: Vec<_> = (0..100).map(|_| make()).collect();
        for _ in 0..10_000 {
            drop(make());
        }
        let observers = &event_loop.cx().0.performance.observers;
        let known = observers.known.borrow();
        assert!(known.capacity() < 1_000, "{}", known.capacity());
        assert_eq!(known.iter().filter(|other| other.strong_count() > 0).count(), kept.len());
    }
}

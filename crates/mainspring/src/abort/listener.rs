//! The listeners of signals. They need not be `Send`, so each loop keeps its own, and a signal knows them by
//! number.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use super::core::{Core, next_number};
use crate::fault::drop_isolated;
use crate::run_each::RunEach;
use crate::{Cx, Handle, Rejection};

type Callback = Box<dyn FnOnce(&Cx, &Rejection)>;

/// Names a listener that [`AbortSignal::add_listener`](crate::AbortSignal::add_listener) has added.
///
/// Dropping it changes nothing. It stays on the thread of the loop that the listener is for.
///
/// ```
/// use mainspring::{AbortController, EventLoop};
///
/// let event_loop = EventLoop::new()?;
/// let controller = AbortController::new();
/// let listener = controller.signal().add_listener(event_loop.cx(), |_, _| unreachable!());
/// assert!(controller.signal().remove_listener(listener));
/// controller.abort();
/// # Ok::<(), mainspring::Error>(())
/// ```
pub struct AbortListener {
    key: u64,
    handle: Handle,
    /// On that thread it can be told whether a listener will be called.
    _local: PhantomData<*const ()>,
}

impl fmt::Debug for AbortListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortListener").field("key", &self.key).finish_non_exhaustive()
    }
}

struct Entry {
    callback: Callback,
    signal: Weak<Core>,
}

/// The listeners of one loop. No borrow is held while code of the user runs, and that includes destructors.
#[derive(Default)]
pub(crate) struct AbortListeners(RefCell<BTreeMap<u64, Entry>>);

impl AbortListeners {
    fn take(&self, key: u64) -> Option<Entry> {
        self.0.borrow_mut().remove(&key)
    }

    /// Drops them all. The loop accepts no more.
    pub(crate) fn end(&self) {
        let next = || self.0.borrow_mut().pop_first();
        while let Some((key, entry)) = next() {
            if let Some(signal) = entry.signal.upgrade() {
                signal.remove_listener(key);
            }
            drop_isolated(entry);
        }
    }
}

/// Adds a listener, unless it would never be called.
pub(super) fn add(signal: Option<&Arc<Core>>, cx: &Cx, callback: Callback) -> AbortListener {
    let key = next_number();
    let table = &cx.0.abort_listeners;
    match signal.filter(|_| !cx.0.finished.get()) {
        None => drop_isolated(callback),
        Some(signal) => {
            // First, because another thread may abort the signal as soon as it knows the listener.
            let entry = Entry { callback, signal: Arc::downgrade(signal) };
            table.0.borrow_mut().insert(key, entry);
            if !signal.add_listener(key, cx.handle()) {
                drop_isolated(table.take(key));
            }
        }
    }
    AbortListener { key, handle: cx.handle(), _local: PhantomData }
}

/// Removes a listener of this signal. Tells whether it was still to be called.
pub(super) fn remove(signal: &Arc<Core>, listener: &AbortListener) -> bool {
    let Some(cx) = listener.handle.0.owner.cx() else { return false };
    let table = &cx.0.abort_listeners;
    let is_its = |entry: &Entry| std::ptr::eq(entry.signal.as_ptr(), Arc::as_ptr(signal));
    if !table.0.borrow().get(&listener.key).is_some_and(is_its) {
        return false;
    }
    signal.remove_listener(listener.key);
    drop_isolated(table.take(listener.key));
    true
}

/// Calls a listener: now, if its loop is on this thread; else that loop does.
pub(super) fn call(handle: &Handle, key: u64, reason: &Rejection, each: &mut RunEach) {
    if let Some(cx) = handle.0.owner.cx() {
        if let Some(entry) = cx.0.abort_listeners.take(key) {
            each.run(&cx, || (entry.callback)(&cx, reason));
        }
        return;
    }
    let reason = reason.clone();
    let task = move |cx: &Cx| {
        if let Some(entry) = cx.0.abort_listeners.take(key) {
            (entry.callback)(cx, &reason);
        }
    };
    // One that has terminated drops its listeners itself.
    let _ = handle.send_internal(task);
}

/// Drops a listener that will not be called, on its own thread.
pub(super) fn release(handle: &Handle, key: u64) {
    match handle.0.owner.cx() {
        Some(cx) => drop_isolated(cx.0.abort_listeners.take(key)),
        // One that has terminated drops its listeners itself.
        None => _ = handle.send_internal(move |cx| drop_isolated(cx.0.abort_listeners.take(key))),
    }
}

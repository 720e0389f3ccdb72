//! What is called when an event comes.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use crate::abort::AlgorithmId;
use crate::{AbortSignal, Cx, Event};

type Callback = dyn Fn(&Cx, &Event);

/// A function that is called when an event comes. Clones are the same listener.
///
/// It may be called again while it runs, if it dispatches an event itself.
///
/// ```
/// use mainspring::Listener;
///
/// let listener = Listener::new(|_, event| println!("{}", event.type_()));
/// assert_eq!(listener, listener.clone());
/// assert_ne!(listener, Listener::new(|_, event| println!("{}", event.type_())));
/// ```
#[derive(Clone)]
pub struct Listener(Rc<Callback>);

impl Listener {
    /// A listener that differs from all others.
    ///
    /// ```
    /// let listener = mainspring::Listener::new(|cx, _| cx.shutdown());
    /// ```
    #[must_use]
    pub fn new(f: impl Fn(&Cx, &Event) + 'static) -> Self {
        Self(Rc::new(f))
    }

    pub(super) fn call(&self, cx: &Cx, event: &Event) {
        (self.0)(cx, event);
    }
}

impl PartialEq for Listener {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(Rc::as_ptr(&self.0), Rc::as_ptr(&other.0))
    }
}

impl Eq for Listener {}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}

/// How a listener is called, and for how long. A `bool` converts into one, and says whether it captures.
///
/// ```
/// use mainspring::{AbortController, Event, EventLoop, EventTarget, Listener, ListenerOptions};
///
/// let event_loop = EventLoop::new()?;
/// let (target, controller) = (EventTarget::new(), AbortController::new());
/// let listener = Listener::new(|_, _| unreachable!());
/// let options = ListenerOptions::new().once(true).signal(&controller.signal());
/// target.add_event_listener("load", &listener, options);
/// controller.abort();
/// target.dispatch_event(event_loop.cx(), &Event::new("load")).unwrap();
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ListenerOptions {
    pub(super) capture: bool,
    pub(super) once: bool,
    pub(super) passive: bool,
    pub(super) signal: Option<AbortSignal>,
}

impl ListenerOptions {
    /// None of them.
    ///
    /// ```
    /// let options = mainspring::ListenerOptions::new();
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the listener is called on the way down to the target, rather than on the way up.
    ///
    /// ```
    /// let options = mainspring::ListenerOptions::new().capture(true);
    /// ```
    pub fn capture(mut self, capture: bool) -> Self {
        self.capture = capture;
        self
    }

    /// Whether the listener is removed when it is called.
    ///
    /// ```
    /// let options = mainspring::ListenerOptions::new().once(true);
    /// ```
    pub fn once(mut self, once: bool) -> Self {
        self.once = once;
        self
    }

    /// Whether the listener can not cancel the event.
    ///
    /// ```
    /// let options = mainspring::ListenerOptions::new().passive(true);
    /// ```
    pub fn passive(mut self, passive: bool) -> Self {
        self.passive = passive;
        self
    }

    /// The listener is removed when the signal is aborted. If that is done on another thread, it is not
    /// called any more from then on, and dropped when the target is used for that type of event again.
    ///
    /// ```
    /// use mainspring::{AbortController, ListenerOptions};
    ///
    /// let controller = AbortController::new();
    /// let options = ListenerOptions::new().signal(&controller.signal());
    /// ```
    pub fn signal(mut self, signal: &AbortSignal) -> Self {
        self.signal = Some(signal.clone());
        self
    }
}

impl From<bool> for ListenerOptions {
    fn from(capture: bool) -> Self {
        Self::new().capture(capture)
    }
}

/// A listener of a target.
pub(super) struct Entry {
    pub(super) listener: Listener,
    pub(super) options: ListenerOptions,
    pub(super) is_removed: Cell<bool>,
    /// What the signal does when it is aborted.
    pub(super) algorithm: Cell<Option<AlgorithmId>>,
}

impl Entry {
    /// Whether it must not be called any more.
    pub(super) fn is_gone(&self) -> bool {
        self.is_removed.get() || self.options.signal.as_ref().is_some_and(AbortSignal::aborted)
    }

    pub(super) fn is_same(&self, listener: &Listener, capture: bool) -> bool {
        self.options.capture == capture && self.listener == *listener
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let (Some(signal), Some(id)) = (&self.options.signal, self.algorithm.get()) {
            signal.remove_algorithm(id);
        }
    }
}

//! What happened.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::time::Instant;

use crate::EventTarget;
use crate::clock::instant;
use crate::fault::drop_isolated;

/// Where an event is on its way.
///
/// ```
/// use mainspring::{Event, EventPhase};
///
/// assert_eq!(Event::new("load").event_phase(), EventPhase::None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EventPhase {
    /// It is not being dispatched.
    #[default]
    None,
    /// On the way down to its target.
    Capturing,
    /// At its target.
    AtTarget,
    /// On the way up from its target.
    Bubbling,
}

/// Something that happened, for the listeners of an [`EventTarget`]. Clones are the same event.
///
/// ```
/// use mainspring::{Event, EventLoop, EventTarget, Listener};
///
/// let event_loop = EventLoop::new()?;
/// let target = EventTarget::new();
/// let listener = Listener::new(|_, event| event.prevent_default());
/// target.add_event_listener("submit", &listener, false);
/// let event = Event::new("submit").cancelable(true);
/// assert_eq!(target.dispatch_event(event_loop.cx(), &event), Ok(false));
/// assert!(event.default_prevented());
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone)]
pub struct Event(Rc<Data>);

struct Data {
    type_: Box<str>,
    detail: Option<Box<dyn Any>>,
    time_stamp: Instant,
    bubbles: Cell<bool>,
    cancelable: Cell<bool>,
    is_dispatched: Cell<bool>,
    stops: Cell<bool>,
    stops_at_once: Cell<bool>,
    is_canceled: Cell<bool>,
    /// Whether the listener that runs now promised not to cancel the event.
    in_passive: Cell<bool>,
    phase: Cell<EventPhase>,
    target: RefCell<Option<EventTarget>>,
    current_target: RefCell<Option<EventTarget>>,
}

/// By the clock of the loop that runs on this thread, if there is one.
fn now() -> Instant {
    crate::current().map_or_else(|_| Instant::now(), |cx| instant(cx.0.shared.clock.read()))
}

impl Event {
    /// An event that does not bubble, and can not be canceled.
    ///
    /// ```
    /// assert_eq!(mainspring::Event::new("load").type_(), "load");
    /// ```
    #[must_use]
    pub fn new(type_: &str) -> Self {
        Self::with_detail(type_, None)
    }

    pub(super) fn with_detail(type_: &str, detail: Option<Box<dyn Any>>) -> Self {
        Self(Rc::new(Data {
            type_: type_.into(),
            detail,
            time_stamp: now(),
            bubbles: Cell::new(false),
            cancelable: Cell::new(false),
            is_dispatched: Cell::new(false),
            stops: Cell::new(false),
            stops_at_once: Cell::new(false),
            is_canceled: Cell::new(false),
            in_passive: Cell::new(false),
            phase: Cell::new(EventPhase::None),
            target: RefCell::new(None),
            current_target: RefCell::new(None),
        }))
    }

    /// Says whether the event goes up to the parents of its target. Without effect while it is being
    /// dispatched.
    ///
    /// ```
    /// assert!(mainspring::Event::new("click").bubbles(true).is_bubbling());
    /// ```
    #[must_use]
    pub fn bubbles(self, bubbles: bool) -> Self {
        if !self.0.is_dispatched.get() {
            self.0.bubbles.set(bubbles);
        }
        self
    }

    /// Says whether [`prevent_default`](Self::prevent_default) has an effect. Without effect itself while
    /// the event is being dispatched.
    ///
    /// ```
    /// assert!(mainspring::Event::new("click").cancelable(true).is_cancelable());
    /// ```
    #[must_use]
    pub fn cancelable(self, cancelable: bool) -> Self {
        if !self.0.is_dispatched.get() {
            self.0.cancelable.set(cancelable);
        }
        self
    }

    /// What kind of event it is.
    ///
    /// ```
    /// assert_eq!(mainspring::Event::new("load").type_(), "load");
    /// ```
    #[must_use]
    pub fn type_(&self) -> &str {
        &self.0.type_
    }

    /// Whether it goes up to the parents of its target.
    ///
    /// ```
    /// assert!(!mainspring::Event::new("load").is_bubbling());
    /// ```
    #[must_use]
    pub fn is_bubbling(&self) -> bool {
        self.0.bubbles.get()
    }

    /// Whether it can be canceled.
    ///
    /// ```
    /// assert!(!mainspring::Event::new("load").is_cancelable());
    /// ```
    #[must_use]
    pub fn is_cancelable(&self) -> bool {
        self.0.cancelable.get()
    }

    /// Whether the environment made it, rather than a program: never.
    ///
    /// ```
    /// assert!(!mainspring::Event::new("click").is_trusted());
    /// ```
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        false
    }

    /// When it was made: by the clock of the loop that was running on this thread, which may be a
    /// [virtual](crate::VirtualClock) one, or by that of the system, if none was.
    ///
    /// ```
    /// use mainspring::Event;
    /// use std::time::Instant;
    ///
    /// let before = Instant::now();
    /// assert!(Event::new("load").time_stamp() >= before);
    /// ```
    #[must_use]
    pub fn time_stamp(&self) -> Instant {
        self.0.time_stamp
    }

    /// The detail of a [`CustomEvent`](crate::CustomEvent), if it is of this type.
    ///
    /// ```
    /// use mainspring::{CustomEvent, Event};
    ///
    /// let event = Event::from(CustomEvent::new("progress", 42));
    /// assert_eq!(event.detail(), Some(&42));
    /// assert_eq!(event.detail::<&str>(), None);
    /// ```
    #[must_use]
    pub fn detail<D: Any>(&self) -> Option<&D> {
        self.0.detail.as_ref()?.downcast_ref()
    }

    /// Where it was dispatched last.
    ///
    /// ```
    /// use mainspring::{Event, EventLoop, EventTarget};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let (target, event) = (EventTarget::new(), Event::new("load"));
    /// assert_eq!(event.target(), None);
    /// target.dispatch_event(event_loop.cx(), &event).unwrap();
    /// assert_eq!(event.target(), Some(target));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    #[must_use]
    pub fn target(&self) -> Option<EventTarget> {
        self.0.target.borrow().clone()
    }

    /// Whose listeners are being called: its target, or a parent of that.
    ///
    /// ```
    /// assert_eq!(mainspring::Event::new("load").current_target(), None);
    /// ```
    #[must_use]
    pub fn current_target(&self) -> Option<EventTarget> {
        self.0.current_target.borrow().clone()
    }

    /// Where it is on its way.
    ///
    /// ```
    /// use mainspring::{Event, EventPhase};
    ///
    /// assert_eq!(Event::new("load").event_phase(), EventPhase::None);
    /// ```
    #[must_use]
    pub fn event_phase(&self) -> EventPhase {
        self.0.phase.get()
    }

    /// Cancels the event, if it is cancelable and the listener that does it is not passive.
    ///
    /// ```
    /// let event = mainspring::Event::new("load");
    /// event.prevent_default();
    /// assert!(!event.default_prevented(), "it is not cancelable");
    /// ```
    pub fn prevent_default(&self) {
        if self.is_cancelable() && !self.0.in_passive.get() {
            self.0.is_canceled.set(true);
        }
    }

    /// Whether it was canceled.
    ///
    /// ```
    /// let event = mainspring::Event::new("load").cancelable(true);
    /// event.prevent_default();
    /// assert!(event.default_prevented());
    /// ```
    #[must_use]
    pub fn default_prevented(&self) -> bool {
        self.0.is_canceled.get()
    }

    /// The event goes no further than to the listeners of the present target.
    ///
    /// ```
    /// use mainspring::Listener;
    ///
    /// let listener = Listener::new(|_, event| event.stop_propagation());
    /// ```
    pub fn stop_propagation(&self) {
        self.0.stops.set(true);
    }

    /// No other listener is called.
    ///
    /// ```
    /// use mainspring::Listener;
    ///
    /// let listener = Listener::new(|_, event| event.stop_immediate_propagation());
    /// ```
    pub fn stop_immediate_propagation(&self) {
        self.0.stops.set(true);
        self.0.stops_at_once.set(true);
    }

    /// Begins a dispatch, unless one is under way.
    pub(super) fn begin(&self, target: &EventTarget) -> bool {
        if self.0.is_dispatched.replace(true) {
            return false;
        }
        drop_isolated(self.0.target.replace(Some(target.clone())));
        true
    }

    /// Comes to a target.
    pub(super) fn arrive(&self, target: &EventTarget, phase: EventPhase) {
        self.0.phase.set(phase);
        self.0.current_target.replace(Some(target.clone()));
    }

    /// Ends a dispatch.
    pub(super) fn end(&self) {
        self.0.phase.set(EventPhase::None);
        self.0.current_target.replace(None);
        self.0.is_dispatched.set(false);
        self.0.stops.set(false);
        self.0.stops_at_once.set(false);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.stops.get()
    }

    pub(super) fn is_stopped_at_once(&self) -> bool {
        self.0.stops_at_once.get()
    }

    pub(super) fn set_in_passive(&self, in_passive: bool) {
        self.0.in_passive.set(in_passive);
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("type", &self.type_())
            .field("phase", &self.event_phase())
            .finish_non_exhaustive()
    }
}

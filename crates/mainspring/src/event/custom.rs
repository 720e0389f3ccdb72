//! Events that carry something.

use std::any::Any;
use std::ops::Deref;

use crate::Event;

/// An [`Event`] with a detail, which can be anything.
///
/// Listeners are given it as an event, and find the detail by [`Event::detail`].
///
/// ```
/// use mainspring::{CustomEvent, EventLoop, EventTarget, Listener};
///
/// let event_loop = EventLoop::new()?;
/// let target = EventTarget::new();
/// let listener = Listener::new(|_, event| assert_eq!(event.detail(), Some(&"half")));
/// target.add_event_listener("progress", &listener, false);
/// target.dispatch_event(event_loop.cx(), &CustomEvent::new("progress", "half")).unwrap();
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CustomEvent(Event);

impl CustomEvent {
    /// An event that does not bubble, and can not be canceled.
    ///
    /// ```
    /// let event = mainspring::CustomEvent::new("progress", 0.5);
    /// assert_eq!(event.detail(), Some(&0.5));
    /// ```
    #[must_use]
    pub fn new<D: Any>(type_: &str, detail: D) -> Self {
        Self(Event::with_detail(type_, Some(Box::new(detail))))
    }

    /// See [`Event::bubbles`].
    ///
    /// ```
    /// assert!(mainspring::CustomEvent::new("progress", 0.5).bubbles(true).is_bubbling());
    /// ```
    #[must_use]
    pub fn bubbles(self, bubbles: bool) -> Self {
        Self(self.0.bubbles(bubbles))
    }

    /// See [`Event::cancelable`].
    ///
    /// ```
    /// assert!(mainspring::CustomEvent::new("progress", 0.5).cancelable(true).is_cancelable());
    /// ```
    #[must_use]
    pub fn cancelable(self, cancelable: bool) -> Self {
        Self(self.0.cancelable(cancelable))
    }
}

impl Deref for CustomEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.0
    }
}

impl From<CustomEvent> for Event {
    fn from(event: CustomEvent) -> Self {
        event.0
    }
}

//! The way of an event.

use std::{error, fmt, iter};

use super::event::EventPhase;
use crate::fault::drop_isolated;
use crate::run_each::RunEach;
use crate::{Cx, Event, EventTarget};

/// The event is being dispatched already.
///
/// ```
/// use mainspring::{DispatchError, Event, EventLoop, EventTarget, Listener};
///
/// let event_loop = EventLoop::new()?;
/// let target = EventTarget::new();
/// let again = Listener::new(|cx, event| {
///     let target = event.target().unwrap();
///     assert_eq!(target.dispatch_event(cx, event), Err(DispatchError));
/// });
/// target.add_event_listener("load", &again, false);
/// target.dispatch_event(event_loop.cx(), &Event::new("load")).unwrap();
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DispatchError;

impl fmt::Display for DispatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the event is being dispatched already; make a new one")
    }
}

impl error::Error for DispatchError {}

impl EventTarget {
    /// Calls the listeners for an event, before this returns: those of the parents that capture, from the
    /// outermost one on; those of this target, first those that capture; and, if the event bubbles, those of
    /// the parents that do not capture, up to the outermost one. Those of a target are called in the order
    /// in which they were added. Returns false if one of them canceled the event.
    ///
    /// Listeners that are added meanwhile are not called if the event has come to their target already.
    /// If a listener panics, the others are called all the same. The panic is reported to the
    /// [uncaught hook](crate::Builder::on_uncaught); under [`PanicPolicy::Propagate`](crate::PanicPolicy) it
    /// leaves this call, at the end.
    ///
    /// # Errors
    ///
    /// If the event is being dispatched already.
    ///
    /// ```
    /// use mainspring::{Event, EventLoop, EventTarget};
    ///
    /// let event_loop = EventLoop::new()?;
    /// let target = EventTarget::new();
    /// assert_eq!(target.dispatch_event(event_loop.cx(), &Event::new("load")), Ok(true));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn dispatch_event(&self, cx: &Cx, event: &Event) -> Result<bool, DispatchError> {
        if !event.begin(self) {
            return Err(DispatchError);
        }
        let parents: Vec<_> = iter::successors(self.parent(), |target| target.parent()).collect();
        let mut each = RunEach::default();
        for parent in parents.iter().rev() {
            parent.visit(cx, event, EventPhase::Capturing, true, &mut each);
        }
        self.visit(cx, event, EventPhase::AtTarget, true, &mut each);
        self.visit(cx, event, EventPhase::AtTarget, false, &mut each);
        if event.is_bubbling() {
            for parent in parents {
                parent.visit(cx, event, EventPhase::Bubbling, false, &mut each);
            }
        }
        event.end();
        each.finish();
        Ok(!event.default_prevented())
    }

    /// Calls the listeners of this target that capture, or those that do not.
    fn visit(&self, cx: &Cx, event: &Event, phase: EventPhase, capture: bool, each: &mut RunEach) {
        if event.is_stopped() {
            return;
        }
        event.arrive(self, phase);
        let Some(list) = self.listeners(event.type_()) else { return };
        for entry in list.iter().filter(|entry| entry.options.capture == capture) {
            if entry.is_gone() {
                continue;
            }
            if entry.options.once {
                self.remove(event.type_(), entry);
            }
            event.set_in_passive(entry.options.passive);
            each.run(cx, || entry.listener.call(cx, event));
            event.set_in_passive(false);
            if event.is_stopped_at_once() {
                break;
            }
        }
        drop_isolated(list);
    }
}

//! A callback that knows where it comes from.

use crate::Cx;
use crate::observe::Stamp;
use crate::place::{Origin, Place};
use crate::task::Callback;

/// A callback of a loop that is observed.
pub(crate) struct Tracked<F> {
    pub(crate) callback: F,
    pub(crate) place: Place,
    /// When it was queued, if that was noted.
    pub(crate) stamp: Stamp,
}

impl<F: Callback> Callback for Tracked<F> {
    fn call(self, cx: &Cx) {
        if let Some(observer) = cx.0.observer() {
            observer.callback_is(&cx.0, self.place, self.stamp);
        }
        self.callback.call(cx);
    }

    fn origin(&self) -> Origin {
        Origin { place: self.place.get(), ..self.callback.origin() }
    }
}

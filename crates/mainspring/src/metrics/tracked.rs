//! A callback that knows where it comes from.

use crate::Cx;
use crate::place::{Origin, Place};
use crate::stamp::Stamp;
use crate::task::{Callback, SendTask, Task};

/// A callback of a loop that is observed.
struct Tracked<F> {
    callback: F,
    place: Place,
    /// When it was queued, if that was noted.
    stamp: Stamp,
}

impl<F: Callback> Callback for Tracked<F> {
    fn call(self, cx: &Cx) {
        if let Some(observer) = cx.0.observer() {
            observer.note_callback(&cx.0, self.place, self.stamp);
        }
        self.callback.call(cx);
    }

    fn origin(&self) -> Origin {
        Origin { place: self.place.get(), ..self.callback.origin() }
    }
}

/// One that has no room for a stamp.
struct Placed<F> {
    callback: F,
    place: Place,
}

impl<F: Callback> Callback for Placed<F> {
    fn call(self, cx: &Cx) {
        let Self { callback, place } = self;
        Tracked { callback, place, stamp: Stamp::default() }.call(cx);
    }

    fn origin(&self) -> Origin {
        Origin { place: self.place.get(), ..self.callback.origin() }
    }
}

impl<const N: usize> Task<N> {
    /// A task of a loop that is observed, with as much about it as there is room for: nothing is allocated that would not
    /// be otherwise.
    pub(crate) fn noted<F>(callback: F, place: Place, stamp: Stamp) -> Self
    where
        F: FnOnce(&Cx) + 'static,
    {
        if Self::has_room::<Tracked<F>>() || !Self::has_room::<F>() {
            Self::new(Tracked { callback, place, stamp })
        } else if Self::has_room::<Placed<F>>() {
            Self::new(Placed { callback, place })
        } else {
            Self::new(callback)
        }
    }
}

impl<const N: usize> SendTask<N> {
    /// One of a loop that is observed; see [`Task::noted`].
    pub(crate) fn noted<F>(callback: F, place: Place, stamp: Stamp) -> Self
    where
        F: FnOnce(&Cx) + Send + 'static,
    {
        // SAFETY: the callback is `Send`; a place and a stamp are.
        unsafe { Self::of(Task::noted(callback, place, stamp)) }
    }
}

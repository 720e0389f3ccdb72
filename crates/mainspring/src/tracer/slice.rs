//! Slices of the program's own.

use std::cell::Cell;
use std::time::Instant;

use crate::clock::moment;
use crate::{Cx, sys};

/// Where slices of the program may be, so that they nest with those of the loop.
#[derive(Debug)]
pub(super) struct Bounds {
    /// One moment on two scales, of which the number is not earlier.
    pub(super) anchor: (Instant, i64),
    /// Where the callback began that runs. Without one, where the last slice of the loop ended.
    floor: Cell<i64>,
    is_inside: Cell<bool>,
    /// The floor of the callback around a microtask.
    outer: Cell<Option<i64>>,
    /// The last microtask in the callback that runs.
    inner: Cell<(i64, i64)>,
}

impl Bounds {
    pub(super) fn new() -> Self {
        let anchor = moment();
        Self {
            anchor,
            floor: Cell::new(anchor.1),
            is_inside: Cell::new(false),
            outer: Cell::new(None),
            inner: Cell::new((0, 0)),
        }
    }

    /// A callback begins.
    #[inline]
    pub(super) fn begin(&self, from: i64) {
        if self.is_inside.replace(true) {
            self.outer.set(Some(self.floor.get()));
        }
        // Behind the first nanosecond, as a flow may end there.
        self.floor.set(from + 2);
    }

    /// A callback ends.
    #[inline]
    pub(super) fn end(&self, from: i64, to: i64) {
        match self.outer.take() {
            Some(floor) => {
                self.floor.set(floor);
                self.inner.set((from, to));
            }
            None => self.pass(to),
        }
    }

    /// Something ends that has callbacks in it, or none.
    #[inline]
    pub(super) fn pass(&self, to: i64) {
        self.floor.set(to);
        self.is_inside.set(false);
        self.outer.set(None);
        self.inner.set((to, to));
    }

    /// Where a slice is that ends now, or has ended in the callback that runs.
    pub(super) fn fit(&self, began: Instant, ended: Instant) -> (i64, i64) {
        let mut to = self.number(ended).clamp(self.floor.get(), sys::now().max(self.floor.get()));
        let mut from = self.number(began).clamp(self.floor.get(), to);
        // It is around a microtask, or beside it.
        let (inner_from, inner_to) = self.inner.get();
        if inner_from < from && from < inner_to {
            from = inner_from;
        }
        if inner_from < to && to < inner_to {
            to = inner_to;
        }
        (from, to)
    }

    fn number(&self, time: Instant) -> i64 {
        let (instant, number) = self.anchor;
        let nanos = |nanos: u128| i64::try_from(nanos).unwrap_or(i64::MAX);
        match time.checked_duration_since(instant) {
            Some(later) => number.saturating_add(nanos(later.as_nanos())),
            None => number.saturating_sub(nanos((instant - time).as_nanos())),
        }
    }
}

impl Cx {
    /// Adds a slice to the trace of the loop: what the callback that runs has done between these times. Does nothing
    /// if the loop was built without a [tracer](crate::Builder::tracer).
    ///
    /// The slice is inside that of the callback. What was before the callback, an `await` before for example, is
    /// cut off, as a slice cannot be in two others. So tell of what is inside first, and of what is around it
    /// after that.
    ///
    /// ```
    /// use mainspring::{EventLoop, Tracer};
    /// use std::time::Instant;
    ///
    /// # let path = std::env::temp_dir().join("mainspring-slices.json");
    /// let tracer = Tracer::create(&path)?;
    /// let event_loop = EventLoop::builder().tracer(&tracer).build()?;
    /// event_loop.cx().submit(|cx| {
    ///     let began = Instant::now();
    ///     // …
    ///     cx.trace_slice("parsing", began, Instant::now());
    /// })?;
    /// event_loop.run_until_idle()?;
    /// tracer.finish()?;
    /// assert!(std::fs::read_to_string(&path)?.contains("parsing"));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace_slice(&self, name: &'static str, began: Instant, ended: Instant) {
        if let Some(observer) = self.0.observer() {
            observer.slice(name, began, ended);
        }
    }
}

//! A place for a value that was moved out of its queue, until it is used.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Holds one value at a time, for one thread.
pub(crate) struct Handover<T>(Cell<MaybeUninit<T>>);

impl<T> Handover<T> {
    pub(crate) const fn new() -> Self {
        Self(Cell::new(MaybeUninit::uninit()))
    }

    /// Puts a value there, and gives it away: whoever gets it must move it, run it or drop it before the
    /// next call, and nothing else will.
    #[inline]
    pub(crate) fn put(&self, value: T) -> NonNull<T> {
        self.0.set(MaybeUninit::new(value));
        NonNull::from(&self.0).cast()
    }
}

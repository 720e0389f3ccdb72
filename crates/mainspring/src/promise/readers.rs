//! Who reads the values of promises after the end of their loop: one thread at a time.

use std::cell::Cell;
use std::ptr;

use crate::sync::{Mutex, MutexGuard, lock, thread_local};

/// A lock that its holder may take again: code of the user, which copies values, runs under it.
pub(crate) struct Readers(Mutex<()>);

thread_local! {
    /// What this thread holds.
    #[cfg_attr(not(loom), allow(clippy::missing_const_for_thread_local))]
    static HELD: Cell<*const Readers> = Cell::new(ptr::null());
}

impl Readers {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(()))
    }

    pub(super) fn lock(&self) -> Reading<'_> {
        // A thread that is at its end has no such variable any more. It holds nothing.
        let before = HELD.try_with(|held| held.replace(self)).unwrap_or(ptr::null());
        let guard = (!ptr::eq(before, self)).then(|| lock(&self.0));
        Reading { _guard: guard, before }
    }
}

/// The right to read.
pub(crate) struct Reading<'a> {
    _guard: Option<MutexGuard<'a, ()>>,
    before: *const Readers,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let _ = HELD.try_with(|held| held.set(self.before));
    }
}

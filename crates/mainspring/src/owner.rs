//! The way from a [`Handle`](crate::Handle) to the loop's own queues, for the loop's own thread.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64 as Counter, Ordering};

use crate::Cx;
use crate::local::Local;
use crate::simulated;
use crate::sync::UnsafeCell;
#[cfg(loom)]
use crate::sync::thread_local;

/// A number for each thread, never used again.
fn thread_number() -> u64 {
    static NEXT: Counter = Counter::new(1);
    fn next() -> u64 {
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    if let Some(number) = simulated::thread_number(next) {
        return number;
    }
    #[cfg(not(loom))]
    {
        use std::cell::Cell;
        // Constant, and without a destructor: the access is one load, and works at any time.
        thread_local!(static NUMBER: Cell<u64> = const { Cell::new(0) });
        NUMBER.with(|number| {
            if number.get() == 0 {
                number.set(next());
            }
            number.get()
        })
    }
    #[cfg(loom)]
    {
        thread_local!(static NUMBER: u64 = next());
        NUMBER.with(|number| *number)
    }
}

/// A pointer that only the thread that made it can follow.
///
/// # Invariants
///
/// 1. `local` is read and written by the thread with the number `thread` only.
/// 2. When it is not null, it points to a live `Local`: it is set after that was made, and reset by
///    that thread before it can be dropped. (If the loop is leaked, the `Local` is, too.)
#[derive(Debug)]
pub(crate) struct Owner {
    thread: u64,
    local: UnsafeCell<*const Local>,
}

// SAFETY: other threads look at `thread` only (invariant 1).
unsafe impl Send for Owner {}
// SAFETY: as for `Send`.
unsafe impl Sync for Owner {}

impl Owner {
    /// The current thread becomes the owner.
    pub(crate) fn new() -> Self {
        Self { thread: thread_number(), local: UnsafeCell::new(std::ptr::null()) }
    }

    /// Whether the current thread is the owner.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        self.thread == thread_number()
    }

    /// Sets or resets the pointer.
    ///
    /// # Safety
    ///
    /// The pointer is null, or came from `Rc::as_ptr` and stays valid until it is reset.
    pub(crate) unsafe fn set(&self, local: *const Local) {
        assert!(self.is_current());
        // SAFETY: the current thread is the owner, and no reference into the cell is ever made.
        self.local.with_mut(|cell| unsafe { *cell = local });
    }

    /// The loop's own side, if the current thread is the owner and the loop exists.
    ///
    /// # Safety
    ///
    /// No code of the user, which might drop the loop, runs while the reference is used.
    #[inline]
    pub(crate) unsafe fn local(&self) -> Option<&Local> {
        if !self.is_current() {
            return None;
        }
        // SAFETY: the current thread is the owner.
        let local = self.local.with(|cell| unsafe { *cell });
        // SAFETY: if not null, it points to a live `Local` (invariant 2), which lives on while the
        // reference is used, because nothing that the caller does can reset the pointer.
        unsafe { local.as_ref() }
    }

    /// The loop's context, if the current thread is the owner and the loop exists.
    pub(crate) fn cx(&self) -> Option<Cx> {
        // SAFETY: nothing but the count of references is touched.
        let local: *const Local = unsafe { self.local() }?;
        // SAFETY: the pointer came from an `Rc` that is alive (invariant 2).
        unsafe { Rc::increment_strong_count(local) };
        // SAFETY: this takes the reference that was just counted.
        Some(Cx(unsafe { Rc::from_raw(local) }))
    }
}

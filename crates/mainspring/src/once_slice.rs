//! A slice that is made when it is first needed, by whoever needs it first. Nobody waits for anybody: a lock, as in the
//! standard library's cells, would let a thread wait for the one that makes the slice.
//!
//! | `first`   | meaning                    | next step                                                        |
//! |-----------|----------------------------|------------------------------------------------------------------|
//! | null      | nobody has needed it yet   | made, and stored by compare-and-swap; who loses drops its own    |
//! | otherwise | the first one of `len`     | stays; freed with this                                           |
//!
//! The pointer is stored with Release and loaded with Acquire, each the other's partner: whoever sees it sees what is
//! there.

use std::ptr;

use crate::sync::{AtomicPtr, Ordering};

/// See the [module documentation](self).
pub(crate) struct OnceSlice<T> {
    first: AtomicPtr<T>,
    len: usize,
}

impl<T> OnceSlice<T> {
    /// For a slice of that length.
    pub(crate) fn new(len: usize) -> Self {
        Self { first: AtomicPtr::new(ptr::null_mut()), len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The slice, if somebody has needed it.
    #[inline]
    pub(crate) fn get(&self) -> Option<&[T]> {
        let first = self.first.load(Ordering::Acquire);
        // SAFETY: the table says that it is the first one of `len`, and how long they stay.
        (!first.is_null()).then(|| unsafe { std::slice::from_raw_parts(first, self.len) })
    }

    /// The slice, made by `make` if nobody has needed it before.
    #[inline]
    pub(crate) fn get_or_make(&self, make: impl FnOnce(usize) -> Box<[T]>) -> &[T] {
        match self.get() {
            Some(slice) => slice,
            None => self.make(make),
        }
    }

    #[cold]
    fn make(&self, make: impl FnOnce(usize) -> Box<[T]>) -> &[T] {
        let made = make(self.len);
        assert_eq!(made.len(), self.len);
        let made = Box::into_raw(made);
        let swapped = self.first.compare_exchange(
            ptr::null_mut(),
            made.cast(),
            Ordering::Release,
            Ordering::Relaxed,
        );
        if swapped.is_err() {
            // SAFETY: from `into_raw`, and nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
        }
        self.get().expect("it was stored, here or elsewhere")
    }
}

impl<T> Drop for OnceSlice<T> {
    fn drop(&mut self) {
        let first = self.first.load(Ordering::Relaxed);
        if !first.is_null() {
            // SAFETY: from `into_raw`, with this length; `&mut self` says that nobody uses it any more.
            drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(first, self.len)) });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_made_once_and_when_it_is_needed() {
        let slice = OnceSlice::new(2);
        assert_eq!((slice.get(), slice.len()), (None, 2));
        assert_eq!(slice.get_or_make(|len| vec![7; len].into()), [7, 7]);
        assert_eq!(slice.get_or_make(|_| panic!("it is there")), [7, 7]);
        assert_eq!(slice.get(), Some(&[7, 7][..]));
    }
}

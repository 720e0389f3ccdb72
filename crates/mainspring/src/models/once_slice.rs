//! A slice that two threads need at once, and a third one looks for.
//!
//! Proved: all see the same slice, complete (loom checks the accesses to the cells), and what the loser made is dropped,
//! once (loom tracks it). Exhaustive.

use loom::alloc::Track;
use loom::thread;
use std::sync::Arc;

use super::{Bound, explore};
use crate::once_slice::OnceSlice;
use crate::sync::UnsafeCell;

/// Who has made it, and whether it was dropped.
type Element = (UnsafeCell<usize>, Track<()>);

fn make(by: usize) -> impl FnOnce(usize) -> Box<[Element]> {
    move |len| (0..len).map(|_| (UnsafeCell::new(by), Track::new(()))).collect()
}

/// Who has made it.
fn maker(slice: &[Element]) -> usize {
    // SAFETY: nobody writes.
    slice[0].0.with(|by| unsafe { *by })
}

#[test]
fn a_slice_is_made_once() {
    explore("once_slice: two make it, one looks", Bound::None, || {
        let slice: Arc<OnceSlice<Element>> = Arc::new(OnceSlice::new(1));
        let threads = [1, 2].map(|by| {
            let slice = Arc::clone(&slice);
            thread::spawn(move || maker(slice.get_or_make(make(by))))
        });
        let seen = slice.get().map(maker);
        let made = threads.map(|thread| thread.join().unwrap());
        assert_eq!(made[0], made[1], "there is one");
        assert!(seen.is_none_or(|seen| seen == made[0]));
        assert_eq!(slice.get().map(maker), Some(made[0]));
    });
}

//! An allocator without locks and without system calls, for programs whose system calls are counted.
//!
//! The system's allocator has both: two threads that meet in it wait for each other, which is not what
//! a test of the loop is to count. This one hands out one region from its beginning to its end, and
//! takes nothing back.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// More than any scenario needs. Only what is touched takes memory.
const SIZE: usize = 1 << 30;

struct Region {
    bytes: UnsafeCell<[u8; SIZE]>,
    used: AtomicUsize,
}

// SAFETY: the bytes are reached through `alloc` only, which gives each of them to one caller.
unsafe impl Sync for Region {}

// SAFETY: each range is inside of the region, aligned as asked for, and given out once.
unsafe impl GlobalAlloc for Region {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // With room for the alignment, wherever the range begins.
        let size = layout.size() + layout.align();
        let begin = self.used.fetch_add(size, Ordering::Relaxed);
        if begin > SIZE - size {
            return null_mut();
        }
        let pointer = self.bytes.get().cast::<u8>().wrapping_add(begin);
        pointer.wrapping_add(pointer.align_offset(layout.align()))
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static REGION: Region = Region { bytes: UnsafeCell::new([0; SIZE]), used: AtomicUsize::new(0) };

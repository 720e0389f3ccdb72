//! How much of the heap is in use. What is resident tells that only roughly: the system's allocator keeps what it was
//! given back for a while, for each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static BYTES: AtomicI64 = AtomicI64::new(0);

/// Bytes that were allocated and not given back.
pub(crate) fn bytes() -> i64 {
    BYTES.load(Ordering::Relaxed)
}

fn note(before: usize, after: usize) {
    // No allocation is larger than that.
    BYTES.fetch_add(after.cast_signed() as i64 - before.cast_signed() as i64, Ordering::Relaxed);
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(0, layout.size());
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(layout.size(), 0);
        // SAFETY: the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(layout.size(), size);
        // SAFETY: the caller's.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(0, layout.size());
        // SAFETY: the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }
}

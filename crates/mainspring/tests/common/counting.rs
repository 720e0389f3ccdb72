//! An allocator that counts.

// Each test file uses a part of this.
#![allow(dead_code, unreachable_pub)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
/// What is alive.
static BYTES: AtomicIsize = AtomicIsize::new(0);
/// What was ever asked for.
static ASKED: AtomicUsize = AtomicUsize::new(0);
/// Whether all threads count.
static EVERYBODY: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread's allocations count: the test harness has threads of its own.
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

fn note(bytes: isize, asked: usize) {
    if COUNTED.get() || EVERYBODY.load(Ordering::Relaxed) {
        BYTES.fetch_add(bytes, Ordering::Relaxed);
        ASKED.fetch_add(asked, Ordering::Relaxed);
        ALLOCATIONS.fetch_add(usize::from(asked > 0), Ordering::Relaxed);
    }
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize, layout.size());
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(-(layout.size() as isize), 0);
        // SAFETY: the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size as isize - layout.size() as isize, size);
        // SAFETY: the caller's.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize, layout.size());
        // SAFETY: the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often something was allocated, by threads that are counted.
pub fn allocations() -> usize {
    ALLOCATIONS.load(Ordering::Relaxed)
}

/// How much of that is alive.
pub fn bytes() -> isize {
    BYTES.load(Ordering::Relaxed)
}

/// How much was ever asked for.
pub fn asked() -> usize {
    ASKED.load(Ordering::Relaxed)
}

/// From now on, or not any more, this thread is counted. Returns whether it was.
pub fn count(is_counted: bool) -> bool {
    COUNTED.replace(is_counted)
}

/// From now on all threads are counted.
pub fn count_everybody() {
    EVERYBODY.store(true, Ordering::Relaxed);
}

/// One test after the other: they share the counters.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts what this thread does, in one test at a time.
pub fn counted<R>(test: impl FnOnce() -> R) -> R {
    /// Also after a panic, before another test begins.
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            count(false);
        }
    }
    let _alone = alone();
    let _reset = Reset;
    count(true);
    test()
}

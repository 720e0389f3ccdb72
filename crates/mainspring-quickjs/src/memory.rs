//! An allocator with a limit, and with patience at the end.
//!
//! QuickJS frees the record of a module with its context, and the functions that wait for that module to be evaluated
//! with its runtime, later. They count a reference less then, in memory that is free by that time, and perhaps somebody
//! else's (bellard/quickjs#280; QuickJS-ng 0.16 has it). A module that awaits what never comes is enough for that. So what an
//! engine frees while it is taken apart is kept until it is gone.

use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

use rquickjs::allocator::Allocator;

#[cfg(feature = "mimalloc")]
use libmimalloc_sys::{
    mi_calloc as calloc, mi_free as free, mi_malloc as malloc, mi_realloc as realloc,
    mi_usable_size as usable_size,
};
#[cfg(not(feature = "mimalloc"))]
use system::{calloc, free, malloc, realloc, usable_size};

#[cfg(not(feature = "mimalloc"))]
mod system {
    pub(super) use libc::{calloc, free, malloc, realloc};
    use std::ffi::c_void;

    /// # Safety
    ///
    /// As for the function of the system.
    pub(super) unsafe fn usable_size(pointer: *const c_void) -> usize {
        // SAFETY: the caller's promise.
        unsafe { libc::malloc_usable_size(pointer.cast_mut()) }
    }
}

/// Lets the allocator take memory from the system as it is used. By default it takes its first arena at once,
/// which huge pages make resident.
#[cfg(feature = "mimalloc")]
pub(crate) fn prepare() {
    /// `mi_option_arena_eager_commit`, which the bindings do not name.
    const ARENA_EAGER_COMMIT: libmimalloc_sys::mi_option_t = 4;
    // SAFETY: an option is set, unless somebody did before.
    unsafe { libmimalloc_sys::mi_option_set_default(ARENA_EAGER_COMMIT, 0) };
}

#[cfg(not(feature = "mimalloc"))]
pub(crate) fn prepare() {}

/// How much an engine may allocate, and whether it tried to allocate more.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    limit: usize,
    used: Cell<usize>,
    is_hit: Cell<bool>,
    /// Whether the engine is being taken apart.
    is_ending: Cell<bool>,
}

impl MemoryLimit {
    pub(crate) fn new(limit: Option<usize>) -> Rc<Self> {
        let limit = limit.unwrap_or(usize::MAX);
        Rc::new(Self {
            limit,
            used: Cell::new(0),
            is_hit: Cell::new(false),
            is_ending: Cell::new(false),
        })
    }

    /// From now on what is freed is kept until the engine is gone, and counts.
    pub(crate) fn begin_end(&self) {
        self.is_ending.set(true);
    }

    /// Whether an allocation was refused since the last call.
    pub(crate) fn take_hit(&self) -> bool {
        self.is_hit.replace(false)
    }

    /// Bytes that are allocated.
    pub(crate) fn used(&self) -> usize {
        self.used.get()
    }

    fn may_add(&self, size: usize) -> bool {
        let fits = self.used.get().checked_add(size).is_some_and(|sum| sum <= self.limit);
        if !fits {
            self.is_hit.set(true);
        }
        fits
    }

    fn add(&self, size: usize) {
        self.used.set(self.used.get() + size);
    }

    fn sub(&self, size: usize) {
        self.used.set(self.used.get().saturating_sub(size));
    }
}

/// Counts what the engine allocates. Dropped when the engine is gone.
pub(crate) struct Counted {
    memory: Rc<MemoryLimit>,
    /// What the engine has freed while it was taken apart.
    kept: Vec<*mut c_void>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        for pointer in self.kept.drain(..) {
            // SAFETY: it comes from this allocator, the engine has freed it, and nobody uses it any more.
            unsafe { free(pointer) };
        }
    }
}

impl Counted {
    pub(crate) fn new(memory: Rc<MemoryLimit>) -> Self {
        Self { memory, kept: Vec::new() }
    }

    fn counted(&self, pointer: *mut c_void) -> *mut u8 {
        if !pointer.is_null() {
            // SAFETY: it was allocated just now, by the same allocator.
            self.memory.add(unsafe { usable_size(pointer) });
        }
        pointer.cast()
    }
}

// SAFETY: all of it is done by the one allocator that is imported above, which aligns for anything; what is
// beyond the limit is null.
unsafe impl Allocator for Counted {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if !self.memory.may_add(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: any size will do.
        self.counted(unsafe { malloc(size) })
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        if !count.checked_mul(size).is_some_and(|bytes| self.memory.may_add(bytes)) {
            return std::ptr::null_mut();
        }
        // SAFETY: any size will do.
        self.counted(unsafe { calloc(count, size) })
    }

    unsafe fn dealloc(&mut self, pointer: *mut u8) {
        if pointer.is_null() {
            return;
        }
        if self.memory.is_ending.get() {
            self.kept.push(pointer.cast());
            return;
        }
        // SAFETY: the caller's promise: it comes from this allocator.
        self.memory.sub(unsafe { usable_size(pointer.cast()) });
        // SAFETY: likewise.
        unsafe { free(pointer.cast()) };
    }

    unsafe fn realloc(&mut self, pointer: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise: it comes from this allocator, or is null.
        let before = if pointer.is_null() { 0 } else { unsafe { usable_size(pointer.cast()) } };
        if size > before && !self.memory.may_add(size - before) {
            return std::ptr::null_mut();
        }
        // SAFETY: likewise.
        let moved = unsafe { realloc(pointer.cast(), size) };
        if moved.is_null() {
            return moved.cast();
        }
        self.memory.sub(before);
        self.counted(moved)
    }

    unsafe fn usable_size(pointer: *mut u8) -> usize {
        // SAFETY: the caller's promise: it comes from this allocator, or is null.
        if pointer.is_null() { 0 } else { unsafe { usable_size(pointer.cast()) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: JS-4
    #[test]
    fn what_an_engine_frees_while_it_is_taken_apart_stays_until_it_is_gone() {
        let memory = MemoryLimit::new(None);
        let mut allocator = Counted::new(Rc::clone(&memory));
        let blocks = [allocator.alloc(320), allocator.alloc(320)];
        // SAFETY: the blocks are as large as this, and from this allocator; the second one is kept, which is looked at first.
        unsafe {
            blocks[1].write_bytes(7, 320);
            allocator.dealloc(blocks[0]);
            assert!(allocator.kept.is_empty(), "it is in use");
            memory.begin_end();
            let used = memory.used();
            allocator.dealloc(blocks[1]);
            assert_eq!(allocator.kept.len(), 1);
            assert!(used >= 320);
            assert_eq!(memory.used(), used, "what is kept counts");
            assert!((0..320).all(|at| *blocks[1].add(at) == 7), "it is as it was");
        }
    }
}

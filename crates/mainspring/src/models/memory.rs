//! A watch over memory: that of promises and futures is freed once, and not used after that.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Keeps watch over the memory of promises, and of futures that are aligned like them. Nothing else has such an
/// alignment, apart from hash tables, whose small ones have no such sizes. What is freed is overwritten, and kept
/// until the end of the execution, so that whoever uses it then is found out.
struct Watch;

#[global_allocator]
static WATCH: Watch = Watch;

const PLACES: usize = 64;
const POISON: u8 = 0xdb;

#[derive(Clone, Copy)]
enum Place {
    Empty,
    Live(*mut u8, Layout),
    Freed(*mut u8, Layout),
}

/// The memory of one execution. One for each test: an execution has one real thread.
struct Ledger {
    is_open: Cell<bool>,
    freed_twice: Cell<bool>,
    places: [Cell<Place>; PLACES],
}

std::thread_local! {
    static LEDGER: Ledger = const {
        Ledger {
            is_open: Cell::new(false),
            freed_twice: Cell::new(false),
            places: [const { Cell::new(Place::Empty) }; PLACES],
        }
    };
}

impl Ledger {
    /// Whether it may be that of a promise or a future.
    fn concerns(&self, layout: Layout) -> bool {
        self.is_open.get() && layout.align() == 16 && layout.size().is_multiple_of(16)
    }

    fn note(&self, memory: *mut u8, layout: Layout) {
        let empty = self.places.iter().find(|place| matches!(place.get(), Place::Empty));
        if let Some(place) = empty {
            place.set(Place::Live(memory, layout));
        }
    }

    /// Whether it is to be kept.
    fn free(&self, memory: *mut u8, layout: Layout) -> bool {
        for place in &self.places {
            match place.get() {
                Place::Live(live, _) if live == memory => {
                    // SAFETY: the caller frees it, and it has this size.
                    unsafe { memory.write_bytes(POISON, layout.size()) };
                    place.set(Place::Freed(memory, layout));
                    return true;
                }
                Place::Freed(freed, _) if freed == memory => {
                    self.freed_twice.set(true);
                    return true;
                }
                _ => {}
            }
        }
        false
    }

    fn open(&self) {
        self.places.iter().for_each(|place| place.set(Place::Empty));
        self.freed_twice.set(false);
        self.is_open.set(true);
    }

    fn close(&self) {
        self.is_open.set(false);
        let (mut leaked, mut changed) = (0, false);
        for place in &self.places {
            match place.replace(Place::Empty) {
                Place::Empty => {}
                Place::Live(..) => leaked += 1,
                Place::Freed(memory, layout) => {
                    // SAFETY: it was given back, and is kept here.
                    unsafe {
                        let bytes = std::slice::from_raw_parts(memory, layout.size());
                        changed |= bytes.iter().any(|byte| *byte != POISON);
                        System.dealloc(memory, layout);
                    }
                }
            }
        }
        assert_eq!(leaked, 0, "memory that was not freed");
        assert!(!changed, "memory was changed after it was freed");
        assert!(!self.freed_twice.get(), "memory was freed twice");
    }
}

// SAFETY: it is the system's allocator; what is freed may be kept.
unsafe impl GlobalAlloc for Watch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on to the caller.
        let memory = unsafe { System.alloc(layout) };
        if layout.align() == 16 {
            let note = |ledger: &Ledger| {
                if ledger.concerns(layout) {
                    ledger.note(memory, layout);
                }
            };
            let _ = LEDGER.try_with(note);
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let free = |ledger: &Ledger| ledger.concerns(layout) && ledger.free(memory, layout);
        if layout.align() == 16 && LEDGER.try_with(free) == Ok(true) {
            return;
        }
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// To be called where an execution begins.
pub(super) fn open() {
    LEDGER.with(Ledger::open);
}

/// To be called where an execution ends: whatever was made is gone.
pub(super) fn close() {
    LEDGER.with(Ledger::close);
}

//! Buffers that the kernel takes when there is something to put into them.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// The group that they are.
pub const GROUP: u16 = 0;

/// How large each is. There are some for each connection, so they are smaller than one that all share; what
/// is longer comes in parts.
const SIZE: usize = 512;

/// # Invariant
///
/// `entries` and `memory` are allocated, with the layouts that [`Buffers::layouts`] has for `count`, which is a
/// power of two. A buffer is the kernel's from [`Buffers::publish`] after [`Buffers::give`] until a completion
/// names it, and then the caller's.
pub struct Buffers {
    entries: *mut BufRingEntry,
    memory: *mut u8,
    count: u16,
    /// How many were given, modulo 2¹⁶. The kernel sees as many as are published.
    tail: u16,
}

impl Buffers {
    /// At least as many, all of them given.
    pub fn new(count: usize) -> Self {
        let count = u16::try_from(count.next_power_of_two()).expect("is not so large");
        let [entries, memory] = Self::layouts(count).map(|layout| {
            // SAFETY: neither is of size zero.
            let allocated = unsafe { alloc_zeroed(layout) };
            if allocated.is_null() {
                handle_alloc_error(layout);
            }
            allocated
        });
        let mut buffers = Self { entries: entries.cast(), memory, count, tail: 0 };
        (0..count).for_each(|id| buffers.give(id));
        buffers.publish();
        buffers
    }

    fn layouts(count: u16) -> [Layout; 2] {
        let count = usize::from(count);
        let entries = Layout::array::<BufRingEntry>(count).expect("is not so large");
        // The kernel maps the entries, and so wants whole pages. rustix would ask for their size in a way
        // that does not work under valgrind.
        // SAFETY: it returns a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let entries = entries.align_to(page).expect("is a power of two");
        let memory = Layout::array::<[u8; SIZE]>(count).expect("is not so large");
        [entries.pad_to_align(), memory.align_to(64).expect("is a power of two")]
    }

    /// Makes them those of a ring.
    ///
    /// # Safety
    ///
    /// They have to stay until the ring is gone.
    pub unsafe fn register(&self, submitter: &Submitter<'_>) -> io::Result<()> {
        // SAFETY: the invariant, and the caller's promise.
        unsafe { submitter.register_buf_ring(self.entries as u64, self.count, GROUP) }
    }

    pub fn address(&self, id: u16) -> *const u8 {
        assert!(id < self.count, "there is no such buffer");
        // SAFETY: it is inside of the allocation.
        unsafe { self.memory.add(usize::from(id) * SIZE) }
    }

    /// Gives one to the kernel, which may take it once it is published.
    pub fn give(&mut self, id: u16) {
        let address = self.address(id) as u64;
        // SAFETY: it is inside of the allocation; the kernel reads no entry that is not published, and no
        // more are given than there are. The first entry's last field is the tail, and is not written here.
        unsafe {
            let entry = &mut *self.entries.add(usize::from(self.tail & (self.count - 1)));
            entry.set_addr(address);
            entry.set_len(SIZE as u32);
            entry.set_bid(id);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Lets the kernel see what was given.
    pub fn publish(&mut self) {
        // SAFETY: the first entry is initialised, and has the tail, which only this writes.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries).cast_mut()) };
        // What was given is written before.
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let [entries, memory] = Self::layouts(self.count);
        // SAFETY: the invariant.
        unsafe {
            dealloc(self.entries.cast(), entries);
            dealloc(self.memory, memory);
        }
    }
}

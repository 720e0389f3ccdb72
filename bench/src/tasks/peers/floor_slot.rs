//! The least that does the job for a loop that never sleeps: room for one closure, in one cache line. Whoever posts
//! waits until there is room, and the loop looks at it again and again.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::Loop;
use super::inline::SendInline;

/// What is in the slot. From `EMPTY` to `WRITING` and `FULL` by whoever posts, and back by the loop.
const EMPTY: u8 = 0;
const WRITING: u8 = 1;
const FULL: u8 = 2;

#[repr(align(64))]
pub struct Slot {
    state: AtomicU8,
    /// None is the end. Belongs to whoever has set `WRITING`, then, from `FULL` on, to the loop.
    message: UnsafeCell<Option<SendInline>>,
}

const _: () = assert!(size_of::<Slot>() == 64);

// SAFETY: the state says who may use the message, which may go to another thread.
unsafe impl Sync for Slot {}

impl Slot {
    #[inline]
    fn put(&self, message: Option<SendInline>) {
        // Acquires that the loop has taken what was there.
        while self
            .state
            .compare_exchange_weak(EMPTY, WRITING, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            spin_loop();
        }
        // SAFETY: it belongs to this thread until the state is changed.
        unsafe { *self.message.get() = message };
        self.state.store(FULL, Ordering::Release);
    }

    /// Only the loop calls it.
    #[inline]
    fn take(&self) -> Option<SendInline> {
        // Acquires the message.
        while self.state.load(Ordering::Acquire) != FULL {
            spin_loop();
        }
        // SAFETY: it belongs to the loop until the state is changed.
        let message = unsafe { (*self.message.get()).take() };
        self.state.store(EMPTY, Ordering::Release);
        message
    }
}

pub struct FloorSlot {
    slot: Arc<Slot>,
}

impl Loop for FloorSlot {
    type Poster = Arc<Slot>;

    fn new() -> Self {
        let (state, message) = (AtomicU8::new(EMPTY), UnsafeCell::new(None));
        Self { slot: Arc::new(Slot { state, message }) }
    }

    fn poster(&self) -> Self::Poster {
        Arc::clone(&self.slot)
    }

    fn post(slot: &Self::Poster, task: impl FnOnce() + Send + 'static) {
        slot.put(Some(SendInline::new(task)));
    }

    fn stop(slot: &Self::Poster) {
        slot.put(None);
    }

    fn run(&mut self) {
        while let Some(task) = self.slot.take() {
            task.run();
        }
    }
}

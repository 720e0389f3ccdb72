//! Figures that one thread writes and any thread reads, all of one moment, without a lock.
//!
//! A sequence lock: the number is odd while the writer is at it, and a reader that has seen two different
//! numbers, or an odd one, looks again. The writer never waits; a reader waits for as long as a writing takes.
//!
//! # Orderings
//!
//! * The writer's Release fence comes after the odd number and before the words: who sees one of the new words,
//!   and then has an Acquire fence, sees the odd number or a later one.
//! * The even number is stored with Release and loaded with Acquire: who sees it sees the words before it.

use crate::sync::{AtomicU64, Ordering, fence, yield_now};

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Published {
    number: AtomicU64,
    words: Box<[AtomicU64]>,
}

impl Published {
    /// So many words, all zero.
    pub(crate) fn new(words: usize) -> Self {
        Self { number: AtomicU64::new(0), words: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Gives `f` all words to be written. One thread only.
    pub(crate) fn write(&self, f: impl FnOnce(&[AtomicU64])) {
        let number = self.number.load(Ordering::Relaxed);
        self.number.store(number + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        f(&self.words);
        self.number.store(number + 2, Ordering::Release);
    }

    /// Gives `f` all words to be read, until they are of one moment. Zeros if nothing was written yet.
    pub(crate) fn read<R>(&self, mut f: impl FnMut(&[AtomicU64]) -> R) -> R {
        loop {
            let before = self.number.load(Ordering::Acquire);
            if before.is_multiple_of(2) {
                let read = f(&self.words);
                fence(Ordering::Acquire);
                if self.number.load(Ordering::Relaxed) == before {
                    return read;
                }
            }
            yield_now();
        }
    }
}

//! Where a program takes its decisions from.

use std::cell::Cell;
use std::sync::LazyLock;

use arbitrary::Unstructured;

static TELLS: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("MAINSPRING_FUZZ_STEPS").is_some());

/// Decisions, one byte each where that is enough, so that a mutation of a byte is a mutation of one decision. When the
/// bytes are used up, all further decisions are zero. It owns them, because callbacks of a loop hold it.
pub(crate) struct Source {
    bytes: Box<[u8]>,
    used: Cell<usize>,
}

impl Source {
    pub(crate) fn new(data: &[u8]) -> Self {
        Self { bytes: data.into(), used: Cell::new(0) }
    }

    /// Whether nothing is left to be decided by the input.
    pub(crate) fn is_over(&self) -> bool {
        self.used.get() == self.bytes.len()
    }

    /// Lets `f` use some bytes.
    fn take<T>(&self, f: impl FnOnce(&mut Unstructured<'_>) -> arbitrary::Result<T>) -> Option<T> {
        let mut rest = Unstructured::new(&self.bytes[self.used.get()..]);
        let taken = f(&mut rest).ok();
        self.used.set(self.bytes.len() - rest.len());
        taken
    }

    /// Tells whoever asked for it what the program does: `MAINSPRING_FUZZ_STEPS=1` in the environment.
    pub(crate) fn tell(&self, step: impl FnOnce() -> String) {
        if *TELLS {
            eprintln!("{}", step());
        }
    }

    /// A number less than `n`, which is not zero.
    pub(crate) fn below(&self, n: usize) -> usize {
        self.take(|rest| rest.int_in_range(0..=n - 1)).unwrap_or(0)
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// Any number.
    pub(crate) fn number(&self) -> u64 {
        self.take(|rest| rest.arbitrary()).unwrap_or(0)
    }

    /// One of several.
    pub(crate) fn pick<'b, T>(&self, of: &'b [T]) -> &'b T {
        &of[self.below(of.len())]
    }
}

//! What all parts of the load have in common.

use std::sync::atomic::{AtomicBool, Ordering};

/// What is put in to see whether the verdict notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// Memory is not given back.
    Leak,
    /// Tasks vanish.
    Lose,
    /// Descriptors are not closed.
    Descriptor,
    /// A thread does not end.
    Thread,
}

/// How much of everything there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Threads that submit.
    pub(crate) producers: usize,
    /// Timers that are alive.
    pub(crate) timers: usize,
    pub(crate) intervals: usize,
    /// Sockets, two for each connection.
    pub(crate) sockets: usize,
    /// Threads that make loops and end them.
    pub(crate) makers: usize,
}

impl Scale {
    pub(crate) const FULL: Self =
        Self { producers: 4, timers: 100_000, intervals: 500, sockets: 1_000, makers: 2 };
    /// For tests of the verdict.
    pub(crate) const SMALL: Self =
        Self { producers: 2, timers: 1_000, intervals: 20, sockets: 40, makers: 1 };
}

/// A run of the load, as its threads see it.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) scale: Scale,
    pub(crate) sabotage: Option<Sabotage>,
    is_over: AtomicBool,
}

impl Run {
    pub(crate) fn new(scale: Scale, sabotage: Option<Sabotage>) -> Self {
        Self { scale, sabotage, is_over: AtomicBool::new(false) }
    }

    /// Whether nothing new is to be begun.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

//! Defects that a test puts in, on its own thread. Nothing of this exists outside of tests.

use std::cell::Cell;

/// Something that the loop does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// The place of a task that was taken is not cleaned.
    SkipCleaning,
    /// A task is put into its queue twice.
    EnqueueTwice,
    /// A signal that was claimed is not sent.
    DropWake,
    /// The stage after the next one of a shutdown begins.
    StageOutOfOrder,
    /// A promise is listed twice.
    ListTwice,
    /// A queue's cursor points elsewhere.
    CorruptCursor,
}

std::thread_local! {
    static PRESENT: Cell<Option<Defect>> = const { Cell::new(None) };
}

/// Puts one in, or takes it out.
pub(crate) fn put_in(defect: Option<Defect>) {
    PRESENT.set(defect);
}

/// Whether the loop has this defect, once.
pub(crate) fn strikes(defect: Defect) -> bool {
    let strikes = PRESENT.get() == Some(defect);
    if strikes {
        PRESENT.set(None);
    }
    strikes
}

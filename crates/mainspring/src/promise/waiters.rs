//! Waiting for a promise, by a task or a thread.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::{Poll, Waker};

use super::mode::{Common, Mode};

/// Where the outcome of a promise is put for somebody who waits for it, and who that is.
pub(crate) struct Waiters<T, R> {
    outcome: Option<Result<T, R>>,
    /// The task that polled last.
    task: Option<Waker>,
    /// Threads that wait.
    threads: Vec<Waker>,
    /// Whether the outcome will come.
    is_ordered: bool,
}

/// A place for a promise of kind `M`.
pub(crate) type WaitersOf<T, M> = <M as Mode>::Common<Waiters<T, <M as Mode>::Rejection>>;

/// The place where one reference to a promise waits. When that is dropped, no task waits any more.
pub(crate) struct Waiting<T, M: Mode>(pub(super) WaitersOf<T, M>);

impl<T, M: Mode> Drop for Waiting<T, M> {
    fn drop(&mut self) {
        let _waker = self.0.with(|inner| inner.task.take());
    }
}

impl<T, R> Waiters<T, R> {
    pub(super) fn new() -> Self {
        Self { outcome: None, task: None, threads: Vec::new(), is_ordered: false }
    }
}

/// Whether the outcome has to be ordered, by the one who asks first.
pub(super) fn is_first<T, M: Mode>(waiters: &WaitersOf<T, M>) -> bool {
    waiters.with(|inner| !std::mem::replace(&mut inner.is_ordered, true))
}

/// Puts the outcome in, and wakes whoever waits.
pub(super) fn put<T, M: Mode>(waiters: &WaitersOf<T, M>, outcome: Result<T, M::Rejection>) {
    let (task, threads) = waiters.with(|inner| {
        inner.outcome = Some(outcome);
        (inner.task.take(), std::mem::take(&mut inner.threads))
    });
    // Those of threads first: a task's is code of the user, and may panic.
    threads.into_iter().chain(task).for_each(Waker::wake);
}

/// Who asks for the outcome.
#[derive(Clone, Copy)]
pub(super) enum Asker<'a> {
    /// A task. It replaces the one that asked before.
    Task(&'a Waker),
    /// A thread, beside others.
    Thread(&'a Waker),
}

/// A copy of the outcome. If it is not there, whoever asks is woken once it is.
pub(super) fn ask<T: Clone, M: Mode>(
    waiters: &WaitersOf<T, M>,
    asker: Asker<'_>,
) -> Poll<Result<T, M::Rejection>> {
    let (Asker::Task(waker) | Asker::Thread(waker)) = asker;
    let waker = waker.clone();
    // A waker that is not needed any more is dropped outside.
    let (outcome, _unneeded) = waiters.with(|inner| match (inner.outcome.take(), asker) {
        (Some(outcome), _) => (Some(outcome), Some(waker)),
        (None, Asker::Task(_)) => (None, inner.task.replace(waker)),
        (None, Asker::Thread(_)) => {
            inner.threads.push(waker);
            (None, None)
        }
    });
    let Some(outcome) = outcome else { return Poll::Pending };
    // Not while it is locked: the copying is done by code of the user, which may panic.
    let copy = catch_unwind(AssertUnwindSafe(|| outcome.clone()));
    put::<T, M>(waiters, outcome);
    Poll::Ready(copy.unwrap_or_else(|payload| resume_unwind(payload)))
}

/// The thread does not wait any more.
pub(super) fn forget<T, M: Mode>(waiters: &WaitersOf<T, M>, waker: &Waker) {
    let _forgotten = waiters.with(|inner| {
        let (mine, others) = std::mem::take(&mut inner.threads)
            .into_iter()
            .partition::<Vec<_>, _>(|other| other.will_wake(waker));
        inner.threads = others;
        mine
    });
}

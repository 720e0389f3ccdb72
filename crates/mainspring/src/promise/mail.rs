//! Waiting for a promise, by a task or a thread.

use std::task::{Poll, Waker};

use super::mode::{Common, Mode};
use super::node::{React, Verdict};
use super::settle::Parent;
use crate::Cx;

/// Where the outcome of a promise is put for somebody who waits for it, and who that is.
pub(crate) struct Mail<T, R> {
    outcome: Option<Result<T, R>>,
    wakers: Vec<Waker>,
}

/// A place for a promise of kind `M`.
pub(super) type Mailbox<T, M> = <M as Mode>::Common<Mail<T, <M as Mode>::Rejection>>;

impl<T, R> Mail<T, R> {
    pub(super) fn new() -> Self {
        Self { outcome: None, wakers: Vec::new() }
    }
}

/// The reaction that puts the outcome there.
pub(super) struct Deliver<T: 'static, M: Mode>(pub(super) Mailbox<T, M>);

impl<T: Clone, M: Mode> Deliver<T, M> {
    fn deliver(self, outcome: Result<T, M::Rejection>) {
        put::<T, M>(&self.0, outcome);
    }
}

impl<T: Clone, M: Mode> React<T, (), M> for Deliver<T, M> {
    fn react(self, _: &Cx, parent: Parent<T, M>) -> Verdict<(), M> {
        self.deliver(parent.outcome());
        Verdict::Settle(Ok(()))
    }

    fn discard(self, parent: Parent<T, M>) {
        self.deliver(parent.late_outcome());
    }
}

/// Puts the outcome in, and wakes whoever waits.
fn put<T, M: Mode>(mailbox: &Mailbox<T, M>, outcome: Result<T, M::Rejection>) {
    let wakers = mailbox.with(|mail| {
        mail.outcome = Some(outcome);
        std::mem::take(&mut mail.wakers)
    });
    wakers.into_iter().for_each(Waker::wake);
}

/// A copy of the outcome. If it is not there, the waker is used once it is.
pub(super) fn poll<T: Clone, M: Mode>(
    mailbox: &Mailbox<T, M>,
    waker: &Waker,
) -> Poll<Result<T, M::Rejection>> {
    let waker = waker.clone();
    // The waker that is not needed is dropped outside.
    let (outcome, _unused) = mailbox.with(|mail| {
        if let Some(outcome) = mail.outcome.take() {
            return (Some(outcome), Some(waker));
        }
        match mail.wakers.iter().position(|other| other.will_wake(&waker)) {
            Some(_) => (None, Some(waker)),
            None => {
                mail.wakers.push(waker);
                (None, None)
            }
        }
    });
    let Some(outcome) = outcome else { return Poll::Pending };
    // Not while it is locked: the copying is done by code of the user.
    let copy = outcome.clone();
    put::<T, M>(mailbox, outcome);
    Poll::Ready(copy)
}

/// Whoever has the waker does not wait any more.
pub(super) fn forget<T, M: Mode>(mailbox: &Mailbox<T, M>, waker: &Waker) {
    let _forgotten = mailbox.with(|mail| {
        let place = mail.wakers.iter().position(|other| other.will_wake(waker))?;
        Some(mail.wakers.swap_remove(place))
    });
}

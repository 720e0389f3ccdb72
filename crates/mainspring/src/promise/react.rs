//! The reactions of handlers, and of those who pass an outcome on.

use super::mode::Mode;
use super::node::{React, Verdict};
use super::settle::Parent;
use crate::Cx;

/// A function of the outcome.
pub(super) struct On<F>(pub(super) F);

impl<P, T, M, F> React<P, T, M> for On<F>
where
    P: Clone,
    T: 'static,
    M: Mode,
    F: FnOnce(&Cx, Result<P, M::Rejection>) -> Verdict<T, M> + 'static,
{
    #[inline]
    fn react(self, cx: &Cx, parent: Parent<P, M>) -> Verdict<T, M> {
        (self.0)(cx, parent.outcome())
    }
}

/// A function that is given the outcome in any case, also at the end of the loop.
pub(super) struct Pass<F>(pub(super) F);

impl<P, M, F> React<P, (), M> for Pass<F>
where
    P: Clone,
    M: Mode,
    F: FnOnce(Result<P, M::Rejection>) + 'static,
{
    fn react(self, _: &Cx, parent: Parent<P, M>) -> Verdict<(), M> {
        parent.pass_on(self.0);
        Verdict::Forget
    }

    fn discard(self, parent: Parent<P, M>) {
        parent.pass_on_late(self.0);
    }
}

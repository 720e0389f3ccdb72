//! The reaction of a handler.

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

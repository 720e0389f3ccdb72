//! The word that says how far a promise is; see [`node`](super::node).

use std::ptr::null_mut;

use super::mode::Mode;
use super::node::Header;

pub(super) const PHASE: usize = 0b0011;
pub(super) const PENDING: usize = 0;
pub(super) const CLAIMED: usize = 1;
pub(super) const FULFILLED: usize = 2;
pub(super) const REJECTED: usize = 3;
pub(super) const HANDLED: usize = 0b0100;
pub(super) const MARK: usize = 0b1000;
pub(super) const TAGS: usize = 0b1111;

/// The word of a promise.
pub(crate) struct State<M: Mode>(pub(super) *mut Header<M>);

impl<M: Mode> Clone for State<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Mode> Copy for State<M> {}

impl<M: Mode> State<M> {
    pub(super) fn tags(self) -> usize {
        self.0.addr() & TAGS
    }

    pub(super) fn list(self) -> *mut Header<M> {
        self.0.map_addr(|address| address & !TAGS)
    }

    pub(super) fn phase(self) -> usize {
        self.tags() & PHASE
    }

    pub(super) fn is_settled(self) -> bool {
        self.phase() >= FULFILLED
    }

    pub(super) fn is_marked(self) -> bool {
        self.tags() & MARK != 0
    }

    pub(super) fn is_handled(self) -> bool {
        self.tags() & HANDLED != 0
    }

    /// Whether it was rejected, and nobody has attached a reaction.
    pub(super) fn is_unhandled(self) -> bool {
        self.phase() == REJECTED && !self.is_handled()
    }

    pub(super) fn with_phase(self, phase: usize) -> Self {
        Self(self.0.map_addr(|address| address & !(PHASE | MARK) | phase))
    }

    pub(super) fn without_list(self) -> Self {
        Self(null_mut::<Header<M>>().with_addr(self.tags()))
    }

    pub(super) fn marked(self) -> Self {
        Self(self.0.map_addr(|address| address | MARK))
    }
}

//! Reactions that wait for their turn, and what becomes of them when the loop has ended.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;

use super::mode::{LoopBound, Mode, Shareable};
use super::reference::Ref;
use crate::Cx;
use crate::sync::thread_local;

/// A reaction whose turn has come: the promise that has settled, and the one that waited for it. If it is
/// dropped, the reaction is, and the promise that waited is rejected.
pub(crate) struct DueReaction<M: Mode> {
    parent: ManuallyDrop<Ref<M>>,
    child: ManuallyDrop<Ref<M>>,
}

impl<M: Mode> DueReaction<M> {
    /// The child was taken from a list of its parent.
    #[inline]
    pub(super) fn new(parent: Ref<M>, child: Ref<M>) -> Self {
        Self { parent: ManuallyDrop::new(parent), child: ManuallyDrop::new(child) }
    }

    #[inline]
    pub(super) fn run(self, cx: &Cx) {
        // SAFETY: `new` is given what was taken from a list.
        unsafe { Ref::react(self, Some(cx)) }
    }

    #[inline]
    pub(super) fn child(&self) -> &Ref<M> {
        &self.child
    }

    #[inline]
    pub(super) fn into_parts(self) -> (Ref<M>, Ref<M>) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `self` is not dropped, and they are taken once.
        unsafe { (ManuallyDrop::take(&mut this.parent), ManuallyDrop::take(&mut this.child)) }
    }
}

impl<M: Mode> Drop for DueReaction<M> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: they are taken once, and what is made of them is given away.
        let (parent, child) =
            unsafe { (ManuallyDrop::take(&mut self.parent), ManuallyDrop::take(&mut self.child)) };
        discard(M::reaction(Self::new(parent, child)));
    }
}

pub(crate) enum AnyReaction {
    LoopBound(DueReaction<LoopBound>),
    Shareable(DueReaction<Shareable>),
}

impl AnyReaction {
    fn discard(self) {
        // SAFETY: `DueReaction::new` is given what was taken from a list.
        unsafe {
            match self {
                Self::LoopBound(due) => Ref::react(due, None),
                Self::Shareable(due) => Ref::react(due, None),
            }
        }
    }
}

thread_local! {
    /// What is to be dropped once the present one is. Nothing if there is no present one.
    #[cfg_attr(not(loom), allow(clippy::missing_const_for_thread_local))]
    static WAITING: std::cell::RefCell<Option<VecDeque<AnyReaction>>> = std::cell::RefCell::new(None);
}

/// Drops a reaction. That rejects a promise, whose reactions are dropped then, and so on: one after the
/// other, not one inside the other, because the chain may be long.
fn discard(due: AnyReaction) {
    let mut due = Some(due);
    let wait = |waiting: &std::cell::RefCell<Option<VecDeque<AnyReaction>>>| {
        let mut waiting = waiting.borrow_mut();
        match &mut *waiting {
            Some(queue) => queue.extend(due.take()),
            None => *waiting = Some(VecDeque::new()),
        }
    };
    let has_queue = WAITING.try_with(wait).is_ok();
    let Some(due) = due else { return };
    due.discard();
    while has_queue && let Ok(Some(next)) = WAITING.try_with(next_waiting) {
        next.discard();
    }
}

/// The next one. If there is none, nobody is at it any more.
fn next_waiting(
    waiting: &std::cell::RefCell<Option<VecDeque<AnyReaction>>>,
) -> Option<AnyReaction> {
    let mut waiting = waiting.borrow_mut();
    let next = waiting.as_mut()?.pop_front();
    if next.is_none() {
        *waiting = None;
    }
    next
}

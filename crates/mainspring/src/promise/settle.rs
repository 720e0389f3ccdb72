//! Settling a promise, and reading what it was settled with; see [`node`](super::node).

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::mode::{Count, Mode};
use super::node::{Base, Head, Outcome};
use super::react::Pass;
use super::reference::Ref;
use super::word::{CLAIMED, FULFILLED, PENDING, REJECTED, State};
use super::{Panicked, Rejection};
use crate::sync::Ordering;
use crate::{Cx, Error};

/// A promise that has settled, for a reaction to it.
pub(crate) struct Parent<P, M: Mode>(pub(super) Ref<M>, pub(super) PhantomData<P>);

impl<P, M: Mode> Parent<P, M> {
    /// Its outcome: the original if nobody else can ask for it, otherwise a copy. For the loop's thread.
    #[inline]
    pub(crate) fn outcome(self) -> Outcome<P, M>
    where
        P: Clone,
    {
        debug_assert!(M::is_on_loop(self.0.home()));
        self.take().unwrap_or_else(|parent| parent.copy())
    }

    /// The original, if nobody else can ask for it.
    #[inline]
    fn take(self) -> Result<Outcome<P, M>, Self> {
        // Acquire: what others did with it before they dropped their references has been done.
        if self.0.header().strong.load(Ordering::Acquire) != 1 {
            return Err(self);
        }
        // SAFETY: it has a `P`, has settled, and this is the only reference (invariant 2).
        let outcome = unsafe { self.head().outcome.with_mut(|outcome| (*outcome).take()) };
        outcome.ok_or(self)
    }

    /// For the loop's thread, or one that is alone.
    fn copy(&self) -> Outcome<P, M>
    where
        P: Clone,
    {
        // SAFETY: it has a `P`, has settled, and this is the loop's thread (invariant 2).
        let outcome = self.head().outcome.with(|outcome| unsafe { (**outcome).clone() });
        outcome
            .unwrap_or_else(|| unreachable!("it has settled, and is taken by the last reader only"))
    }

    /// Gives the outcome to a function that cannot do without one: if it cannot be copied, because that
    /// panics, it is a rejection. For the loop's thread.
    pub(crate) fn pass_on(self, f: impl FnOnce(Outcome<P, M>))
    where
        P: Clone,
    {
        match catch_unwind(AssertUnwindSafe(|| self.outcome())) {
            Ok(outcome) => f(outcome),
            Err(payload) => {
                f(Err(Rejection::new(Panicked::reported(&*payload)).into()));
                resume_unwind(payload);
            }
        }
    }

    /// Like `pass_on`, at the end of the loop or after it.
    pub(crate) fn pass_on_late(self, f: impl FnOnce(Outcome<P, M>))
    where
        P: Clone,
    {
        match catch_unwind(AssertUnwindSafe(|| self.late_outcome())) {
            Ok(outcome) => f(outcome),
            Err(payload) => f(Err(Rejection::new(Panicked::new(payload)).into())),
        }
    }

    /// Its outcome at the end of the loop, or after it. While the end is going on, a value cannot be had by
    /// other threads, unless for its last reader; they are told of the end instead.
    fn late_outcome(self) -> Outcome<P, M>
    where
        P: Clone,
    {
        let home = self.0.home().clone();
        self.take().unwrap_or_else(|parent| match M::alone(&home) {
            // The parent is dropped when others may read again.
            Some(_alone) => parent.copy(),
            None => Err(parent.late_reason()),
        })
    }

    /// Why it was rejected; or, if it was not, that the loop has ended.
    fn late_reason(&self) -> M::Rejection {
        if self.0.state().phase() != REJECTED {
            return Rejection::new(Error::Terminated).into();
        }
        // SAFETY: it was rejected, and a reason can be cloned on any thread that may have it.
        self.head().outcome.with(|outcome| match unsafe { &**outcome } {
            Some(Err(reason)) => reason.clone(),
            _ => Rejection::new(Error::Terminated).into(),
        })
    }

    fn head(&self) -> &Head<P, M> {
        // SAFETY: a parent is of the type that the reaction is for.
        unsafe { self.0.0.cast().as_ref() }
    }
}

impl<T: Clone> Base<T, super::mode::Shareable> {
    /// The outcome, if it has settled and the loop has come to its end, so that nobody waits for anything.
    pub(super) fn final_outcome(&self) -> Option<Result<T, Rejection>> {
        let is_final = self.0.state().is_settled() && self.home().0.end.has_completed();
        is_final.then(|| Parent(self.0.clone(), PhantomData).late_outcome())
    }
}

/// The right to settle a promise. If it is not used, the promise is rejected.
pub(crate) struct Child<T: 'static, M: Mode>(pub(super) Base<T, M>);

impl<T: 'static, M: Mode> Child<T, M> {
    pub(super) fn home(&self) -> &M::Home {
        self.0.home()
    }

    #[inline]
    pub(crate) fn settle(self, outcome: Outcome<T, M>) {
        Self::publish(self.into_base().0, outcome);
    }

    #[inline]
    fn publish(node: Ref<M>, outcome: Outcome<T, M>) {
        let phase = if outcome.is_ok() { FULFILLED } else { REJECTED };
        // SAFETY: the promise is one for a `T`.
        let head = unsafe { node.0.cast::<Head<T, M>>().as_ref() };
        // SAFETY: the right to settle it is here, and it has not settled (invariant 2). Nothing is there yet.
        head.outcome.with_mut(|place| unsafe { place.write(ManuallyDrop::new(Some(outcome))) });
        // SAFETY: no code of the user is run before the last use.
        match unsafe { M::local(node.home()) } {
            Some(local) if local.accepts() => {
                // Settles it and takes the list, at once.
                let (Ok(before) | Err(before)) =
                    node.update(|state| Some(state.with_phase(phase).without_list()));
                local.registry.remove(&node);
                node.spread(before.with_phase(phase), local);
            }
            _ => Self::publish_elsewhere(node, phase),
        }
    }

    /// Settles it on another thread than the loop's, or after the end.
    fn publish_elsewhere(node: Ref<M>, phase: usize) {
        let (Ok(before) | Err(before)) = node.update(|state| Some(state.with_phase(phase)));
        if !before.list().is_null() || before.with_phase(phase).is_unhandled() {
            node.tell();
        }
    }

    /// Leaves it pending: nobody has it, and nothing waits for it.
    pub(super) fn forget(self) {
        drop(self.into_base());
    }

    /// The promise, which is not rejected.
    #[inline]
    fn into_base(self) -> Base<T, M> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `self` is not dropped, so this takes the reference over.
        unsafe { std::ptr::read(&raw const this.0) }
    }

    /// The loop has ended.
    #[cold]
    pub(super) fn end(self) {
        self.settle(Err(Rejection::new(Error::Terminated).into()));
    }

    /// Settles it as `promise` settles. As in JavaScript, it takes a microtask to ask `promise` for that.
    pub(crate) fn adopt(self, promise: Base<T, M>)
    where
        T: Clone,
    {
        if promise.0.is(&self.0.0) {
            return self.settle(Err(Rejection::new(Error::PromiseCycle).into()));
        }
        let home = self.0.home().clone();
        let follower = Follower::new(self);
        let ask = move |_: &Cx| {
            // SAFETY: `M` carries references to promises of its kind, and nothing else is inside.
            drop(unsafe {
                promise.derive_unchecked(Pass(move |outcome| follower.settle(outcome)))
            });
        };
        // SAFETY: as above.
        unsafe { M::queue(&home, ask) };
    }

    /// Settles it, two microtasks later.
    pub(super) fn delay(self, outcome: Outcome<T, M>) {
        let home = self.0.home().clone();
        let again = home.clone();
        let first = move |_: &Cx| {
            let second = move |_: &Cx| self.settle(outcome);
            // SAFETY: as below.
            unsafe { M::queue(&again, second) };
        };
        // SAFETY: `M` carries a promise of its kind, and its outcome.
        unsafe { M::queue(&home, first) };
    }
}

impl<T: 'static, M: Mode> Drop for Child<T, M> {
    fn drop(&mut self) {
        let error =
            if M::has_ended(self.0.home()) { Error::Terminated } else { Error::PromiseAbandoned };
        Self::publish(self.0.0.clone(), Err(Rejection::new(error).into()));
    }
}

/// Settles a promise as the one that it follows, unless the loop ends before.
struct Follower<T: 'static, M: Mode>(Base<T, M>);

impl<T: 'static, M: Mode> Follower<T, M> {
    fn new(child: Child<T, M>) -> Self {
        let node = child.into_base().0;
        let _ = node.update(|state| Some(state.with_phase(PENDING).marked()));
        // What it follows may be a promise of another loop, or follow this one.
        if !node.is_listed() && !M::register(&node) {
            node.end();
        }
        Self(Base(node, PhantomData))
    }

    fn settle(self, outcome: Outcome<T, M>) {
        if let Some(child) = self.claim() {
            child.settle(outcome);
        }
    }

    /// The right to settle it, unless the loop has ended.
    fn claim(&self) -> Option<Child<T, M>> {
        let mine = |state: State<M>| state.phase() == PENDING && state.is_marked();
        let claimed = self.0.0.update(|state| mine(state).then(|| state.with_phase(CLAIMED)));
        claimed.is_ok().then(|| Child(self.0.clone()))
    }
}

impl<T: 'static, M: Mode> Drop for Follower<T, M> {
    fn drop(&mut self) {
        drop(self.claim());
    }
}

/// Settles a promise, unless that has been done. The promise is rejected when this is dropped.
pub(crate) struct Settler<T: 'static, M: Mode>(pub(super) Base<T, M>);

impl<T: 'static, M: Mode> Settler<T, M> {
    /// The right to settle it, for the first who asks.
    #[inline]
    pub(crate) fn claim(&self) -> Option<Child<T, M>> {
        self.0.claim()
    }

    /// Nobody will ever settle it.
    pub(crate) fn leave_pending(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: `self` is not dropped, so this takes the reference over.
        drop(unsafe { std::ptr::read(&raw const this.0) });
    }
}

impl<T: 'static, M: Mode> Drop for Settler<T, M> {
    #[inline]
    fn drop(&mut self) {
        if self.0.0.state().phase() == PENDING {
            drop(self.claim());
        }
    }
}

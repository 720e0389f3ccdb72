//! A promise in memory.
//!
//! One allocation holds all of a promise: the counts of its references, its state, its outcome, and, if it
//! was derived from another one, the reaction that will settle it. (Those that only wait for the parts of a
//! combination share an allocation; see [`member`](super::member).)
//!
//! # The state
//!
//! One pointer-sized word. Its low bits say how far the promise is:
//!
//! | bits       | meaning                                                                      |
//! |------------|------------------------------------------------------------------------------|
//! | `PHASE`    | pending; claimed (resolved, and not settled yet); fulfilled; rejected         |
//! | `HANDLED`  | a reaction was attached, at some time                                        |
//! | `MARK`     | pending: it follows another promise; rejected: it was reported as unhandled   |
//!
//! The rest points to the reaction that was attached last, and each reaction to the one that was attached
//! before it. They are the nodes of other promises.
//!
//! * *Attaching* puts a node in front of that list. If the promise has settled, the loop is told.
//! * *Settling* writes the outcome, then changes the phase. If there is a list, the loop is told.
//! * The loop's thread, when it is told, takes the list, and queues a microtask for each reaction, in the
//!   order of attachment. Only it does, so that the order is kept however the telling goes.
//!
//! # Invariants
//!
//! 1. A `Ref` is counted in `strong`. While there is one, outcome, reaction and home are alive. All
//!    strong references together, and each `Weak`, are counted in `weak`; while there is one, the memory is.
//! 2. The outcome is written once, by whoever has the right to settle, which a [`Child`] stands for, while the
//!    phase is not a settled one. After that it is read by one thread at a time, so `T` need not be `Sync`:
//!    the loop's, or after its end one that has a lock; or it is taken by the holder of the only strong
//!    reference. The reason of a rejection may be read by all.
//! 3. A node is in at most one list, once, and the list owns a strong reference to it. `next` belongs to
//!    whoever puts it into the list, then to whoever takes the list.
//! 4. The reaction is taken by whoever has taken the node from a list, once. What is there instead in a promise
//!    that is in no list, by the one who was told to.
//! 5. The kind `M` of a node carries all that is inside, so references of the shareable kind can be sent.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{NonNull, null_mut};

use super::mode::{Carries, Count, Link, Mode};
use super::reaction::DueReaction;
use super::reference::Ref;
use super::rejection::LocalRejection;
use super::settle::{Child, Parent, Settler};
use super::word::{CLAIMED, FULFILLED, PENDING, REJECTED, State};
use super::{Panicked, PromiseState, Rejection};
use crate::fault::drop_isolated;
use crate::sync::{AtomicBool, UnsafeCell};
use crate::{Cx, Error};

/// In place of a slot in the registry.
pub(super) const UNLISTED: u32 = u32::MAX;

/// What all promises of a kind have, whatever their value. Aligned so that pointers have room for the tags.
#[repr(C, align(16))]
pub(crate) struct Header<M: Mode> {
    pub(super) state: M::Link,
    pub(super) strong: M::Count,
    pub(super) weak: M::Count,
    pub(super) acts: &'static Acts<M>,
    /// The reaction that was attached before, or the promise that was listed before.
    pub(super) next: UnsafeCell<*mut Header<M>>,
    /// Where the registry has it. For the loop's thread.
    pub(super) slot: UnsafeCell<u32>,
    /// Whether the registry has it, or may have had it.
    pub(super) is_listed: AtomicBool,
    pub(super) home: ManuallyDrop<M::Home>,
}

/// What depends on the types inside a node.
pub(super) struct Acts<M: Mode> {
    /// Runs the reaction, or drops it if there is no context.
    pub(super) react: unsafe fn(DueReaction<M>, Option<&Cx>),
    /// Why it was rejected.
    pub(super) reason: unsafe fn(&Ref<M>) -> LocalRejection,
    /// Rejects it, if it is pending, also if it follows another one.
    pub(super) reject: unsafe fn(&Ref<M>, Error),
    /// Drops all that is inside.
    pub(super) empty: unsafe fn(NonNull<Header<M>>),
    /// Frees the memory.
    pub(super) free: unsafe fn(NonNull<Header<M>>),
}

pub(super) type Outcome<T, M> = Result<T, <M as Mode>::Rejection>;

/// The part of a node that depends on the value only.
#[repr(C)]
pub(super) struct Head<T, M: Mode> {
    header: Header<M>,
    pub(super) outcome: UnsafeCell<ManuallyDrop<Option<Outcome<T, M>>>>,
}

/// A promise for a `T`, that is settled by a reaction `R` to another one.
#[repr(C)]
pub(crate) struct Node<P, T, R, M: Mode> {
    head: Head<T, M>,
    reaction: UnsafeCell<ManuallyDrop<Option<R>>>,
    _parent: PhantomData<fn(P)>,
}

/// What happens to a derived promise once the one before it has settled.
pub(crate) enum Verdict<T: 'static, M: Mode> {
    /// It settles.
    Settle(Outcome<T, M>),
    /// It will settle as that one does. The function is [`Child::adopt`], which only some types have.
    Adopt(Base<T, M>, fn(Child<T, M>, Base<T, M>)),
    /// It settles two microtasks later.
    Delay(Outcome<T, M>),
    /// Nobody has it.
    Forget,
}

/// A reaction to the settling of a promise for a `P`, which decides about one for a `T`.
pub(crate) trait React<P, T: 'static, M: Mode>: 'static {
    /// Runs as a microtask.
    fn react(self, cx: &Cx, parent: Parent<P, M>) -> Verdict<T, M>;

    /// The loop has ended, so no handler is run.
    fn discard(self, parent: Parent<P, M>)
    where
        Self: Sized,
    {
        drop(parent);
    }
}

/// The reaction of a promise that is not derived from another one.
pub(crate) enum Root {}

impl<T: 'static, M: Mode> React<(), T, M> for Root {
    fn react(self, _: &Cx, _: Parent<(), M>) -> Verdict<T, M> {
        match self {}
    }
}

impl<P, T: 'static, R: React<P, T, M>, M: Mode> Node<P, T, R, M> {
    pub(super) const ACTS: Acts<M> = Acts {
        react: Self::react,
        reason: Self::reason,
        reject: Self::reject,
        empty: Self::empty,
        free: Self::free,
    };

    /// A promise in memory of its own, with so many references to it.
    ///
    /// # Safety
    ///
    /// `M` carries `T` and `R` (invariant 5).
    #[inline]
    unsafe fn allocate(
        home: M::Home,
        reaction: Option<R>,
        outcome: Option<Outcome<T, M>>,
        references: u32,
    ) -> NonNull<Header<M>> {
        let node = Box::new(Self::new(home, reaction, outcome, references, const { &Self::ACTS }));
        // SAFETY: the pointer of a box is not null.
        unsafe { NonNull::new_unchecked(Box::into_raw(node)) }.cast()
    }

    /// A promise for which somebody will have so many references.
    #[inline(always)]
    pub(super) fn new(
        home: M::Home,
        reaction: Option<R>,
        outcome: Option<Outcome<T, M>>,
        references: u32,
        acts: &'static Acts<M>,
    ) -> Self {
        let phase = match &outcome {
            None => PENDING,
            Some(Ok(_)) => FULFILLED,
            Some(Err(_)) => REJECTED,
        };
        Self {
            head: Head {
                header: Header {
                    state: M::Link::new(null_mut::<Header<M>>().with_addr(phase)),
                    strong: M::Count::new(references),
                    weak: M::Count::new(1),
                    acts,
                    next: UnsafeCell::new(null_mut()),
                    slot: UnsafeCell::new(UNLISTED),
                    is_listed: AtomicBool::new(false),
                    home: ManuallyDrop::new(home),
                },
                outcome: UnsafeCell::new(ManuallyDrop::new(outcome)),
            },
            reaction: UnsafeCell::new(ManuallyDrop::new(reaction)),
            _parent: PhantomData,
        }
    }

    /// Takes the reaction, or what is there instead.
    ///
    /// # Safety
    ///
    /// It is such a node, and nobody else takes it (invariant 4).
    pub(super) unsafe fn take_reaction(node: &Ref<M>) -> Option<R> {
        // SAFETY: the caller says so; the layout is fixed.
        let node = unsafe { node.0.cast::<Self>().as_ref() };
        // SAFETY: as above.
        node.reaction.with_mut(|reaction| unsafe { (*reaction).take() })
    }

    /// # Safety
    ///
    /// The child is such a node, and its parent has a `P`.
    unsafe fn react(due: DueReaction<M>, cx: Option<&Cx>) {
        let (parent, child) = due.into_parts();
        // SAFETY: the caller says so, and it was made of a list (invariant 4).
        let reaction = unsafe { Self::take_reaction(&child) };
        let parent = Parent(parent, PhantomData);
        let child = Child(Base(child, PhantomData));
        let Some(reaction) = reaction else { return };
        let Some(cx) = cx else {
            let discard = AssertUnwindSafe(|| reaction.discard(parent));
            drop_isolated(catch_unwind(discard));
            return child.end();
        };
        match catch_unwind(AssertUnwindSafe(|| reaction.react(cx, parent))) {
            Ok(Verdict::Settle(outcome)) => child.settle(outcome),
            Ok(Verdict::Adopt(promise, adopt)) => adopt(child, promise),
            Ok(Verdict::Delay(outcome)) => child.delay(outcome),
            Ok(Verdict::Forget) => child.forget(),
            Err(payload) => {
                child.settle(Err(Rejection::new(Panicked::reported(&*payload)).into()));
                resume_unwind(payload);
            }
        }
    }

    /// # Safety
    ///
    /// It is such a node, rejected, and this is the loop's thread.
    unsafe fn reason(node: &Ref<M>) -> LocalRejection {
        // SAFETY: the caller says so.
        let head = unsafe { node.0.cast::<Head<T, M>>().as_ref() };
        // SAFETY: as above (invariant 2).
        head.outcome.with(|outcome| match unsafe { &**outcome } {
            Some(Err(reason)) => reason.clone().into(),
            _ => unreachable!("it was rejected"),
        })
    }

    /// # Safety
    ///
    /// It is such a node.
    unsafe fn reject(node: &Ref<M>, error: Error) {
        let pending = |state: State<M>| state.phase() == PENDING;
        if node.update(|state| pending(state).then(|| state.with_phase(CLAIMED))).is_ok() {
            Child(Base::<T, M>(node.clone(), PhantomData))
                .settle(Err(Rejection::new(error).into()));
        }
    }

    /// # Safety
    ///
    /// It is such a node, and its last strong reference is gone.
    unsafe fn empty(node: NonNull<Header<M>>) {
        let node = node.cast::<Self>().as_ptr();
        // SAFETY: as the caller says, nobody else looks at what is inside, and this is done once. Others may
        // look at the counts meanwhile, so there is no exclusive reference to the whole. The home comes last,
        // also if a destructor of the user panics.
        unsafe {
            let _home = (&raw mut (*node).head.header.home).read();
            let _home = ManuallyDrop::into_inner(_home);
            let reaction = (*node).reaction.with_mut(|reaction| ManuallyDrop::take(&mut *reaction));
            (*node).head.outcome.with_mut(|outcome| ManuallyDrop::drop(&mut *outcome));
            drop(reaction);
        }
    }

    /// # Safety
    ///
    /// It is such a node, was emptied, and its last weak reference is gone.
    unsafe fn free(node: NonNull<Header<M>>) {
        // SAFETY: it came from a box, as the caller says. What is inside is not dropped again.
        drop(unsafe { Box::from_raw(node.cast::<Self>().as_ptr()) });
    }
}

/// A promise for a `T`. It can be sent if a `T` can.
pub(crate) struct Base<T, M: Mode>(pub(super) Ref<M>, pub(super) PhantomData<M::Common<T>>);

impl<T, M: Mode> Clone for Base<T, M> {
    #[inline]
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<T: 'static, M: Carries<T>> Base<T, M> {
    /// A promise that the registry knows, because something outside the loop will settle it.
    #[inline]
    pub(crate) fn listed(home: M::Home) -> (Self, Settler<T, M>) {
        // SAFETY: `M` carries `T`. A `Root` cannot exist.
        let node = unsafe { Node::<(), T, Root, M>::allocate(home, None, None, 2) };
        let promise = Self(Ref(node), PhantomData);
        if !M::register(&promise.0) {
            promise.0.end();
        }
        (promise, Settler(Self(Ref(node), PhantomData)))
    }

    /// A promise that the registry knows, with something inside that is not a reaction to another promise, but
    /// for somebody to take out.
    pub(super) fn listed_with<R>(home: M::Home, content: R) -> Self
    where
        R: React<(), T, M>,
        M: Carries<R>,
    {
        // SAFETY: `M` carries both.
        let node = unsafe { Node::<(), T, R, M>::allocate(home, Some(content), None, 1) };
        let promise = Self(Ref(node), PhantomData);
        if !M::register(&promise.0) {
            promise.0.end();
        }
        promise
    }

    /// A promise that has settled.
    #[inline]
    pub(crate) fn settled(home: M::Home, outcome: Outcome<T, M>) -> Self {
        let is_rejected = outcome.is_err();
        // SAFETY: as above.
        let node = unsafe { Node::<(), T, Root, M>::allocate(home, None, Some(outcome), 1) };
        let promise = Self(Ref(node), PhantomData);
        if is_rejected {
            promise.0.clone().tell();
        }
        promise
    }

    /// Derives a promise from this one.
    #[inline]
    pub(crate) fn derive<U, R>(&self, reaction: R) -> Base<U, M>
    where
        U: 'static,
        R: React<T, U, M>,
        M: Carries<U> + Carries<R>,
    {
        // SAFETY: `M` carries them.
        unsafe { self.derive_unchecked(reaction) }
    }
}

impl<T, M: Mode> Base<T, M> {
    /// # Safety
    ///
    /// `M` carries `U` and `R`.
    #[inline]
    pub(crate) unsafe fn derive_unchecked<U, R>(&self, reaction: R) -> Base<U, M>
    where
        U: 'static,
        R: React<T, U, M>,
    {
        let home = self.0.home().clone();
        // SAFETY: passed on to the caller. One of the references is the list's.
        let child = unsafe { Node::<T, U, R, M>::allocate(home, Some(reaction), None, 2) };
        let promise = Base(Ref(child), PhantomData);
        self.0.attach(child);
        promise
    }

    /// # Safety
    ///
    /// The promise is one for a `T`.
    pub(super) unsafe fn from_ref(node: Ref<M>) -> Self {
        Self(node, PhantomData)
    }

    /// The right to settle it, for the first who asks.
    pub(super) fn claim(&self) -> Option<Child<T, M>>
    where
        T: 'static,
    {
        self.0.claim().then(|| Child(self.clone()))
    }

    /// Whether nobody has obtained the right to settle it.
    pub(super) fn is_undecided(&self) -> bool {
        let state = self.0.state();
        state.phase() == PENDING && !state.is_marked()
    }

    pub(crate) fn node(&self) -> &Ref<M> {
        &self.0
    }

    pub(crate) fn home(&self) -> &M::Home {
        self.0.home()
    }

    pub(crate) fn state(&self) -> PromiseState {
        match self.0.state().phase() {
            FULFILLED => PromiseState::Fulfilled,
            REJECTED => PromiseState::Rejected,
            _ => PromiseState::Pending,
        }
    }
}

//! A promise in memory.
//!
//! One allocation holds all of a promise: the counts of its references, its state, its outcome, and, if it
//! was derived from another one, the reaction that will settle it.
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
//! 4. The reaction is taken by whoever has taken the node from a list, once.
//! 5. The kind `M` of a node carries all that is inside, so references of the shareable kind can be sent.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{NonNull, null_mut};

use super::id::PromiseId;
use super::mode::{Carries, Count, Link, Mode, Shareable};
use super::rejection::LocalRejection;
use super::trampoline::Job;
use super::{Panicked, PromiseState};
use crate::fault::drop_isolated;
use crate::local::Local;
use crate::sync::{Ordering, UnsafeCell};
use crate::task::Task;
use crate::{Cx, Error};

const PHASE: usize = 0b0011;
const PENDING: usize = 0;
const CLAIMED: usize = 1;
const FULFILLED: usize = 2;
const REJECTED: usize = 3;
const HANDLED: usize = 0b0100;
const MARK: usize = 0b1000;
const TAGS: usize = 0b1111;

/// In place of a slot in the registry.
pub(super) const UNLISTED: u32 = u32::MAX;

/// What all promises of a kind have, whatever their value. Aligned so that pointers have room for the tags.
#[repr(C, align(16))]
pub(crate) struct Header<M: Mode> {
    state: M::Link,
    strong: M::Count,
    weak: M::Count,
    acts: &'static Acts<M>,
    /// The reaction that was attached before, or the promise that was listed before.
    next: UnsafeCell<*mut Header<M>>,
    /// Where the registry has it. For the loop's thread.
    slot: UnsafeCell<u32>,
    /// Whether the registry has to know.
    is_root: bool,
    home: ManuallyDrop<M::Home>,
}

/// What depends on the types inside a node.
struct Acts<M: Mode> {
    /// Runs the reaction, or drops it if there is no context.
    react: unsafe fn(Job<M>, Option<&Cx>),
    /// Why it was rejected.
    reason: unsafe fn(&Ref<M>) -> LocalRejection,
    /// Rejects it, if it is pending, also if it follows another one.
    reject: unsafe fn(&Ref<M>, Error),
    /// Drops all that is inside.
    empty: unsafe fn(NonNull<Header<M>>),
    /// Frees the memory.
    free: unsafe fn(NonNull<Header<M>>),
}

type Outcome<T, M> = Result<T, <M as Mode>::Rejection>;

/// The part of a node that depends on the value only.
#[repr(C)]
struct Head<T, M: Mode> {
    header: Header<M>,
    outcome: UnsafeCell<ManuallyDrop<Option<Outcome<T, M>>>>,
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

/// The word of a promise.
pub(crate) struct State<M: Mode>(*mut Header<M>);

impl<M: Mode> Clone for State<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Mode> Copy for State<M> {}

impl<M: Mode> State<M> {
    fn tags(self) -> usize {
        self.0.addr() & TAGS
    }

    fn list(self) -> *mut Header<M> {
        self.0.map_addr(|address| address & !TAGS)
    }

    fn phase(self) -> usize {
        self.tags() & PHASE
    }

    fn is_settled(self) -> bool {
        self.phase() >= FULFILLED
    }

    fn is_marked(self) -> bool {
        self.tags() & MARK != 0
    }

    fn is_handled(self) -> bool {
        self.tags() & HANDLED != 0
    }

    /// Whether it was rejected, and nobody has attached a reaction.
    pub(super) fn is_unhandled(self) -> bool {
        self.phase() == REJECTED && !self.is_handled()
    }

    fn with_phase(self, phase: usize) -> Self {
        Self(self.0.map_addr(|address| address & !(PHASE | MARK) | phase))
    }

    fn marked(self) -> Self {
        Self(self.0.map_addr(|address| address | MARK))
    }
}

impl<P, T: 'static, R: React<P, T, M>, M: Mode> Node<P, T, R, M> {
    const ACTS: Acts<M> = Acts {
        react: Self::react,
        reason: Self::reason,
        reject: Self::reject,
        empty: Self::empty,
        free: Self::free,
    };

    /// Makes a promise, with so many references to it.
    ///
    /// # Safety
    ///
    /// `M` carries `T` and `R` (invariant 5).
    #[inline]
    unsafe fn allocate(
        home: M::Home,
        reaction: Option<R>,
        outcome: Option<Outcome<T, M>>,
        references: usize,
    ) -> NonNull<Header<M>> {
        let phase = match &outcome {
            None => PENDING,
            Some(Ok(_)) => FULFILLED,
            Some(Err(_)) => REJECTED,
        };
        let node = Box::new(Self {
            head: Head {
                header: Header {
                    state: M::Link::new(null_mut::<Header<M>>().with_addr(phase)),
                    strong: M::Count::new(references),
                    weak: M::Count::new(1),
                    acts: const { &Self::ACTS },
                    next: UnsafeCell::new(null_mut()),
                    slot: UnsafeCell::new(UNLISTED),
                    is_root: reaction.is_none(),
                    home: ManuallyDrop::new(home),
                },
                outcome: UnsafeCell::new(ManuallyDrop::new(outcome)),
            },
            reaction: UnsafeCell::new(ManuallyDrop::new(reaction)),
            _parent: PhantomData,
        });
        // SAFETY: the pointer of a box is not null.
        unsafe { NonNull::new_unchecked(Box::into_raw(node)) }.cast()
    }

    /// # Safety
    ///
    /// The child of the job is such a node, and its parent has a `P`.
    unsafe fn react(job: Job<M>, cx: Option<&Cx>) {
        let (parent, child) = job.into_parts();
        // SAFETY: the caller says so; the layout of both is fixed.
        let node = unsafe { child.0.cast::<Self>().as_ref() };
        // SAFETY: the job was made of a list (invariant 4).
        let reaction = node.reaction.with_mut(|reaction| unsafe { (*reaction).take() });
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
            Err(payload) => {
                child.settle(Err(Panicked::reported(&*payload).into()));
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
            Child(Base::<T, M>(node.clone(), PhantomData)).settle(Err(error.into()));
        }
    }

    /// # Safety
    ///
    /// It is such a node, and its last strong reference is gone.
    unsafe fn empty(node: NonNull<Header<M>>) {
        let node = node.cast::<Self>().as_ptr();
        // SAFETY: as the caller says, nobody else looks at what is inside, and this is done once. Others may
        // look at the counts meanwhile, so there is no exclusive reference to the whole.
        unsafe {
            let home = &raw mut (*node).head.header.home;
            (*node).head.outcome.with_mut(|outcome| ManuallyDrop::drop(&mut *outcome));
            (*node).reaction.with_mut(|reaction| ManuallyDrop::drop(&mut *reaction));
            ManuallyDrop::drop(&mut *home);
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

/// A strong reference to a promise with whatever value.
pub(crate) struct Ref<M: Mode>(NonNull<Header<M>>);

// SAFETY: all that is inside a shareable promise can be sent (invariant 5), and is used by one thread at a
// time (invariants 2 to 4); the rest is atomic.
unsafe impl Send for Ref<Shareable> {}
// SAFETY: as for `Send`.
unsafe impl Sync for Ref<Shareable> {}

impl<M: Mode> Ref<M> {
    #[inline]
    fn header(&self) -> &Header<M> {
        // SAFETY: it is alive (invariant 1).
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(super) fn home(&self) -> &M::Home {
        &self.header().home
    }

    pub(super) fn id(&self) -> PromiseId {
        PromiseId::new(self.0.addr())
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    #[inline]
    fn state(&self) -> State<M> {
        State(self.header().state.load())
    }

    /// Changes the state to what `f` makes of it, unless that is nothing. Returns what it was.
    #[inline]
    fn update(&self, f: impl Fn(State<M>) -> Option<State<M>>) -> Result<State<M>, State<M>> {
        let mut old = self.state();
        loop {
            let Some(new) = f(old) else { return Err(old) };
            match self.header().state.replace(old.0, new.0) {
                Ok(()) => return Ok(old),
                Err(other) => old = State(other),
            }
        }
    }

    /// Obtains the right to settle it, for the first who asks.
    #[inline]
    fn claim(&self) -> bool {
        let free = |state: State<M>| state.phase() == PENDING && !state.is_marked();
        self.update(|state| free(state).then(|| state.with_phase(CLAIMED))).is_ok()
    }

    /// Puts a node into the list of reactions, and tells the loop if it has settled already.
    #[inline]
    fn attach(&self, child: NonNull<Header<M>>) {
        let attached = self.update(|state| {
            // SAFETY: the child is in no list yet, and alive (invariant 3).
            unsafe { child.as_ref().next.with_mut(|next| *next = state.list()) };
            Some(State(child.as_ptr().map_addr(|address| address | state.tags() | HANDLED)))
        });
        let (Ok(before) | Err(before)) = attached;
        if before.is_settled() {
            if !before.is_handled() && before.is_marked() {
                M::handled_late(self);
            }
            M::tell(self.clone());
        }
    }

    /// Empties the list. Returns the state with the list as it was.
    #[inline]
    pub(super) fn take_reactions(&self) -> State<M> {
        let state = self.state();
        if state.list().is_null() {
            return state;
        }
        let taken =
            self.update(|state| Some(State(null_mut::<Header<M>>().with_addr(state.tags()))));
        let (Ok(state) | Err(state)) = taken;
        state
    }

    /// Queues a microtask for each reaction of a list that was taken, in the order of attachment.
    #[inline]
    pub(super) fn queue_jobs(self, state: State<M>, local: &Local) {
        let mut parent = Some(self);
        let mut list = Reactions::new(state);
        let mut next = list.next();
        while let Some(child) = next {
            next = list.next();
            // The last one takes the reference over.
            let parent = if next.is_some() { parent.clone() } else { parent.take() };
            if let Some(parent) = parent {
                let job = Job::new(parent, child);
                local.push_microtask(Task::new(move |cx| job.run(cx)));
            }
        }
    }

    /// Drops the reactions: the loop has ended.
    #[cold]
    pub(super) fn discard_reactions(self) {
        let state = self.take_reactions();
        for child in Reactions::new(state) {
            drop(Job::new(self.clone(), child));
        }
    }

    /// Notes that the rejection was reported as unhandled. Tells whether that is so.
    pub(super) fn report(&self) -> bool {
        self.update(|state| (!state.is_handled()).then(|| state.marked())).is_ok()
    }

    /// Why it was rejected. For the loop's thread, and promises that were.
    pub(super) fn reason(&self) -> LocalRejection {
        debug_assert!(self.state().phase() == REJECTED && M::is_on_loop(self.home()));
        // SAFETY: the functions are those of its type.
        unsafe { (self.header().acts.reason)(self) }
    }

    /// Rejects it, if it is pending, also if it follows another one: the loop has ended.
    pub(super) fn end(&self) {
        // SAFETY: the functions are those of its type.
        unsafe { (self.header().acts.reject)(self, Error::Terminated) }
    }

    /// Where the registry has it. For the loop's thread.
    pub(super) fn slot(&self) -> u32 {
        // SAFETY: the loop's thread alone uses it.
        self.header().slot.with(|slot| unsafe { *slot })
    }

    /// For the loop's thread.
    pub(super) fn set_slot(&self, slot: u32) {
        // SAFETY: the loop's thread alone uses it.
        self.header().slot.with_mut(|cell| unsafe { *cell = slot });
    }

    /// Whether the registry may have it.
    #[inline]
    pub(super) fn is_root(&self) -> bool {
        self.header().is_root
    }

    pub(super) fn downgrade(&self) -> Weak<M> {
        self.header().weak.add();
        Weak(self.0)
    }

    /// Runs the reaction of this promise, or drops it.
    ///
    /// # Safety
    ///
    /// The child of the job was taken from a list of its parent.
    #[inline]
    pub(super) unsafe fn react(job: Job<M>, cx: Option<&Cx>) {
        let react = job.child().header().acts.react;
        // SAFETY: the functions are those of its type. A reaction is only attached to a promise of the
        // type that it is for.
        unsafe { react(job, cx) }
    }
}

impl<M: Mode> Clone for Ref<M> {
    #[inline]
    fn clone(&self) -> Self {
        if self.header().strong.add() > isize::MAX as usize {
            // Somebody leaks references, and goes on until the count is wrong.
            std::process::abort();
        }
        Self(self.0)
    }
}

impl<M: Mode> Drop for Ref<M> {
    #[inline]
    fn drop(&mut self) {
        // Release, and the fence below: what all others did with it comes before its end.
        if self.header().strong.sub(Ordering::Release) == 1 {
            M::Count::fence();
            self.destroy();
        }
    }
}

impl<M: Mode> Ref<M> {
    /// The last reference is gone.
    #[inline]
    fn destroy(&mut self) {
        let acts = self.header().acts;
        if !self.state().list().is_null() {
            // Others wait for it, and nobody can settle it any more.
            self.header().strong.add();
            let last = Self(self.0);
            // SAFETY: the functions are those of its type.
            return unsafe { (acts.reject)(&last, Error::PromiseAbandoned) };
        }
        let memory = Weak(self.0);
        // SAFETY: the functions are those of its type, and this was the last reference.
        unsafe { (acts.empty)(self.0) };
        drop(memory);
    }
}

/// A reference that keeps the memory of a promise, not what is inside.
pub(crate) struct Weak<M: Mode>(NonNull<Header<M>>);

// SAFETY: as for `Ref`.
unsafe impl Send for Weak<Shareable> {}

impl<M: Mode> Weak<M> {
    /// A strong reference, if there is one.
    pub(super) fn upgrade(&self) -> Option<Ref<M>> {
        // SAFETY: the memory is alive (invariant 1).
        let header = unsafe { self.0.as_ref() };
        header.strong.add_unless_zero().then(|| Ref(self.0))
    }

    /// Whether it is of no use to know of it: it has settled, or nobody has it any more.
    pub(super) fn is_done(&self) -> bool {
        // SAFETY: the memory is alive (invariant 1), and these words have no destructor.
        let header = unsafe { self.0.as_ref() };
        header.strong.load(Ordering::Relaxed) == 0 || State(header.state.load()).is_settled()
    }

    /// Where the registry has it. For the loop's thread.
    pub(super) fn set_slot(&self, slot: u32) {
        // SAFETY: the memory is alive; the loop's thread alone uses it.
        unsafe { self.0.as_ref() }.slot.with_mut(|cell| unsafe { *cell = slot });
    }

    /// The link of the list of newcomers, for whoever puts it there or has taken it from there.
    pub(super) fn next(&self) -> *mut Header<M> {
        // SAFETY: the memory is alive; who may use it is as the comment says (invariant 3: a root is in no
        // list of reactions).
        unsafe { self.0.as_ref() }.next.with(|next| unsafe { *next })
    }

    /// As for `next`.
    pub(super) fn set_next(&self, to: *mut Header<M>) {
        // SAFETY: as for `next`.
        unsafe { self.0.as_ref() }.next.with_mut(|next| unsafe { *next = to });
    }

    pub(super) fn as_ptr(&self) -> *mut Header<M> {
        self.0.as_ptr()
    }

    /// # Safety
    ///
    /// The pointer came from a reference that was forgotten, and takes its place.
    pub(super) unsafe fn from_raw(pointer: NonNull<Header<M>>) -> Self {
        Self(pointer)
    }
}

impl<M: Mode> Drop for Weak<M> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the memory is alive (invariant 1).
        let header = unsafe { self.0.as_ref() };
        // Acquire and Release as for strong references. Who sees that it is the last one need not count.
        if header.weak.load(Ordering::Acquire) != 1 {
            if header.weak.sub(Ordering::Release) != 1 {
                return;
            }
            M::Count::fence();
        }
        // SAFETY: the functions are those of its type; no reference is left, so it was emptied.
        unsafe { (header.acts.free)(self.0) };
    }
}

/// A list that was taken, in the order of attachment.
struct Reactions<M: Mode>(*mut Header<M>);

impl<M: Mode> Reactions<M> {
    #[inline]
    fn new(state: State<M>) -> Self {
        // The last one comes first in the list.
        let mut list = state.list();
        let mut reversed = null_mut();
        while let Some(node) = NonNull::new(list) {
            // SAFETY: the list was taken, and its nodes are alive (invariant 3).
            list = unsafe { node.as_ref() }.next.with_mut(|next| unsafe { next.replace(reversed) });
            reversed = node.as_ptr();
        }
        Self(reversed)
    }
}

impl<M: Mode> Iterator for Reactions<M> {
    type Item = Ref<M>;

    #[inline]
    fn next(&mut self) -> Option<Ref<M>> {
        let node = NonNull::new(self.0)?;
        // SAFETY: the list was taken, and its nodes are alive (invariant 3).
        self.0 = unsafe { node.as_ref() }.next.with(|next| unsafe { *next });
        // The list's reference becomes the caller's.
        Some(Ref(node))
    }
}

impl<M: Mode> Drop for Reactions<M> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

/// A promise for a `T`.
pub(crate) struct Base<T, M: Mode>(Ref<M>, PhantomData<fn() -> T>);

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

    /// A promise that has settled.
    #[inline]
    pub(crate) fn settled(home: M::Home, outcome: Outcome<T, M>) -> Self {
        let is_rejected = outcome.is_err();
        // SAFETY: as above.
        let node = unsafe { Node::<(), T, Root, M>::allocate(home, None, Some(outcome), 1) };
        let promise = Self(Ref(node), PhantomData);
        if is_rejected {
            M::tell(promise.0.clone());
        }
        promise
    }

    /// Derives a promise from this one.
    #[inline]
    pub(crate) fn react<U, R>(&self, reaction: R) -> Base<U, M>
    where
        U: 'static,
        R: React<T, U, M>,
        M: Carries<U> + Carries<R>,
    {
        // SAFETY: `M` carries them.
        unsafe { self.react_unchecked(reaction) }
    }
}

impl<T, M: Mode> Base<T, M> {
    /// # Safety
    ///
    /// `M` carries `U` and `R`.
    #[inline]
    pub(crate) unsafe fn react_unchecked<U, R>(&self, reaction: R) -> Base<U, M>
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

/// A promise that has settled, for a reaction to it.
pub(crate) struct Parent<P, M: Mode>(Ref<M>, PhantomData<P>);

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

    /// For the loop's thread.
    fn copy(self) -> Outcome<P, M>
    where
        P: Clone,
    {
        // SAFETY: it has a `P`, has settled, and this is the loop's thread (invariant 2).
        let outcome = self.head().outcome.with(|outcome| unsafe { (**outcome).clone() });
        outcome
            .unwrap_or_else(|| unreachable!("it has settled, and is taken by the last reader only"))
    }

    /// Its outcome at the end of the loop, or after it. While the end is going on, a value cannot be had by
    /// other threads, unless for its last reader; they are told of the end instead.
    pub(crate) fn late_outcome(self) -> Outcome<P, M>
    where
        P: Clone,
    {
        let home = self.0.home().clone();
        self.take().unwrap_or_else(|parent| match M::alone(&home) {
            Some(_alone) => parent.copy(),
            None => Err(parent.late_reason()),
        })
    }

    /// Why it was rejected; or, if it was not, that the loop has ended.
    fn late_reason(&self) -> M::Rejection {
        if self.0.state().phase() != REJECTED {
            return Error::Terminated.into();
        }
        // SAFETY: it was rejected, and a reason can be cloned on any thread that may have it.
        self.head().outcome.with(|outcome| match unsafe { &**outcome } {
            Some(Err(reason)) => reason.clone(),
            _ => Error::Terminated.into(),
        })
    }

    fn head(&self) -> &Head<P, M> {
        // SAFETY: a parent is of the type that the reaction is for.
        unsafe { self.0.0.cast().as_ref() }
    }
}

/// The right to settle a promise. If it is not used, the promise is rejected.
pub(crate) struct Child<T: 'static, M: Mode>(Base<T, M>);

impl<T: 'static, M: Mode> Child<T, M> {
    #[inline]
    pub(crate) fn settle(self, outcome: Outcome<T, M>) {
        let this = ManuallyDrop::new(self);
        // SAFETY: `self` is not dropped, so this takes the reference over.
        let node = unsafe { std::ptr::read(&raw const this.0.0) };
        Self::publish(node, outcome);
    }

    #[inline]
    fn publish(node: Ref<M>, outcome: Outcome<T, M>) {
        let phase = if outcome.is_ok() { FULFILLED } else { REJECTED };
        // SAFETY: the promise is one for a `T`.
        let head = unsafe { node.0.cast::<Head<T, M>>().as_ref() };
        // SAFETY: the right to settle it is here, and it has not settled (invariant 2).
        head.outcome.with_mut(|place| unsafe { **place = Some(outcome) });
        let published = node.update(|state| Some(state.with_phase(phase)));
        let (Ok(before) | Err(before)) = published;
        if !before.list().is_null() || before.with_phase(phase).is_unhandled() {
            M::tell(node);
        } else if node.is_root() {
            M::unlist(&node);
        }
    }

    /// The loop has ended.
    #[cold]
    fn end(self) {
        self.settle(Err(Error::Terminated.into()));
    }

    /// Settles it as `promise` settles. As in JavaScript, it takes a microtask to ask `promise` for that.
    pub(crate) fn adopt(self, promise: Base<T, M>)
    where
        T: Clone,
    {
        if promise.0.is(&self.0.0) {
            return self.settle(Err(Error::PromiseCycle.into()));
        }
        let home = self.0.home().clone();
        let follower = Follower::new(self);
        let ask = move |_: &Cx| {
            // SAFETY: `M` carries references to promises of its kind, and nothing else is inside.
            drop(unsafe { promise.react_unchecked(follower) });
        };
        // SAFETY: as above.
        unsafe { M::queue(&home, ask) };
    }

    /// Settles it, two microtasks later.
    fn delay(self, outcome: Outcome<T, M>) {
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
        Self::publish(self.0.0.clone(), Err(error.into()));
    }
}

/// Settles a promise as the one that it follows, unless the loop ends before.
struct Follower<T: 'static, M: Mode>(Base<T, M>);

impl<T: 'static, M: Mode> Follower<T, M> {
    fn new(child: Child<T, M>) -> Self {
        let this = ManuallyDrop::new(child);
        // SAFETY: `child` is not dropped, so this takes the reference over.
        let node = unsafe { std::ptr::read(&raw const this.0.0) };
        let _ = node.update(|state| Some(state.with_phase(PENDING).marked()));
        Self(Base(node, PhantomData))
    }

    /// The right to settle it, unless the loop has ended.
    fn claim(&self) -> Option<Child<T, M>> {
        let mine = |state: State<M>| state.phase() == PENDING && state.is_marked();
        let claimed = self.0.0.update(|state| mine(state).then(|| state.with_phase(CLAIMED)));
        claimed.is_ok().then(|| Child(self.0.clone()))
    }
}

impl<T: Clone + 'static, M: Mode> React<T, (), M> for Follower<T, M> {
    fn react(self, _: &Cx, parent: Parent<T, M>) -> Verdict<(), M> {
        let outcome = parent.outcome();
        if let Some(child) = self.claim() {
            child.settle(outcome);
        }
        Verdict::Settle(Ok(()))
    }

    fn discard(self, parent: Parent<T, M>) {
        let outcome = parent.late_outcome();
        if let Some(child) = self.claim() {
            child.settle(outcome);
        }
    }
}

impl<T: 'static, M: Mode> Drop for Follower<T, M> {
    fn drop(&mut self) {
        drop(self.claim());
    }
}

/// Settles a promise, unless that has been done. The promise is rejected when this is dropped.
pub(crate) struct Settler<T: 'static, M: Mode>(Base<T, M>);

impl<T: 'static, M: Mode> Settler<T, M> {
    /// The right to settle it, for the first who asks.
    #[inline]
    pub(crate) fn claim(&self) -> Option<Child<T, M>> {
        self.0.0.claim().then(|| Child(self.0.clone()))
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
